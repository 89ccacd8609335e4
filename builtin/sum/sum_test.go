package sum

import (
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
)

func TestEvaluate(t *testing.T) {
	for in, want := range map[string]string{
		"1+2*3":                    "7",
		"(1+2)*3":                  "9",
		"0.1+0.2":                  "0.3",
		"1/3":                      "about 0.333333333333333 (exactly 1/3)",
		"10/4":                     "2.5",
		"2^10":                     "1024",
		"2**0.5":                   "about 1.4142135623731",
		"-2^2":                     "-4",
		"2^-1":                     "0.5",
		"2^3^2":                    "512",
		"(-8)^(1/3)":               "!",
		"5!":                       "120",
		"17 % 5":                   "2",
		"-7 mod 3":                 "2",
		"mod(-7,3)":                "2",
		"15% of 80":                "12",
		"200 * 15%":                "30",
		"1,234,567 + 1":            "1234568",
		"1e3 + 2.5E-1":             "1000.25",
		"0xff":                     "255",
		"sqrt(16)":                 "4",
		"√2":                       "about 1.4142135623731",
		"sqrt(2)^2":                "about 2",
		"round(2.675, 2)":          "2.68",
		"round(-2.5)":              "-3",
		"round(1234,-2)":           "1200",
		"floor(-1.5)":              "-2",
		"ceil(1.1)":                "2",
		"int(-1.5)":                "-1",
		"max(1,2,3) - min(4,5)":    "-1",
		"avg(1,2,4)":               "about 2.33333333333333 (exactly 7/3)",
		"gcd(12,18)":               "6",
		"lcm(4,6)":                 "12",
		"log(1000)":                "3",
		"log(8,2)":                 "3",
		"ln(e)":                    "1",
		"sin(0)":                   "0",
		"2(3+4)":                   "14",
		"2pi":                      "about 6.28318530717959",
		"3 × 4 ÷ 2 − 1":            "5",
		"9007199254740993 + 1":     "9007199254740994",
		"99999999999999999999*3=":  "299999999999999999997",
		"abs(-3)":                  "3",
		"1e400 / 1e399":            "10",
		"":                         "!ends too early",
		"1+":                       "!ends too early",
		"(1":                       "!not closed",
		"1/0":                      "!zero",
		"5 % 0":                    "!zero",
		"sqrt(-1)":                 "!no real",
		"ln(0)":                    "!too large",
		"2^999999999":              "!too long",
		"9^9^9^9":                  "!",
		"4000!":                    "!3000",
		"3.5!":                     "!whole number",
		"foo(1)":                   "!known",
		"import os":                "!known",
		"1 2":                      "!not understood",
		"1e99999":                  "!too large",
		strings.Repeat("(", 500):   "!nested",
		strings.Repeat("-", 900):   "!nested",
		strings.Repeat("1+", 2000): "!characters",
		"1..2":                     "!no number",
		"max()":                    "!needs numbers",
	} {
		start := time.Now()
		n, err := Evaluate(in)
		got := said(n, err)
		if fail, ok := strings.CutPrefix(want, "!"); ok {
			if err == nil || !strings.Contains(jackline.Say(err), fail) {
				t.Errorf("%q: %s, want an error with %q", clip(in, 40), got, fail)
			}
		} else if got != want {
			t.Errorf("%q = %s, want %s", in, got, want)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("%q took %v", clip(in, 40), d)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, s := range []string{"1+2", "2^3!", "round(1.5,2)", "15% of 3", "1,000", "0x1f", "max(1,2;3)", "-(-3)^2", "√(4)", "2pi(3)", "1e-5", "[1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		start := time.Now()
		n, err := Evaluate(s)
		if err == nil && n.String() == "" {
			t.Errorf("%q is nothing", s)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%q took %v", s, d)
		}
	})
}

// said is the number, or the error.
func said(n Number, err error) string {
	if err != nil {
		return jackline.Say(err)
	}
	return n.String()
}
