package main

import "os"

// peak is not known there.
func peak(*os.ProcessState) float64 { return 0 }
