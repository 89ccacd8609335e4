//go:build !race

package dialect

const slower = 1
