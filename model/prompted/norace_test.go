//go:build !race

package prompted

const slower = 1
