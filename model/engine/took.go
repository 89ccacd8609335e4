package engine

import "time"

// longest bounds what an engine may say that something took: more is nonsense, and must not overflow a sum.
const longest = 24 * time.Hour

// Took is a time that an engine reports, in nanoseconds. What is none is 0.
func Took(ns float64) time.Duration {
	if !(ns > 0) || ns > float64(longest) {
		return 0
	}
	return time.Duration(ns)
}
