package sum

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A Number is a number: exact, or as near as a float gets where r is nil.
type Number struct {
	r *big.Rat
	f float64
}

func whole(n int64) Number { return Number{r: new(big.Rat).SetInt64(n)} }

func inexact(f float64) Number { return Number{f: f} }

func (n Number) float() float64 {
	if n.r == nil {
		return n.f
	}
	f, _ := n.r.Float64()
	return f
}

// checked refuses numbers that are none or too long.
func (n Number) checked() (Number, error) {
	if n.r == nil {
		if math.IsNaN(n.f) {
			return Number{}, wrongSum("That has no real result.")
		}
		if math.IsInf(n.f, 0) {
			return Number{}, wrongSum("The result is too large.")
		}
		return n, nil
	}
	if n.r.Num().BitLen()+n.r.Denom().BitLen() > maxBits {
		return Number{}, wrongSum("The result is too long.")
	}
	return n, nil
}

func (n Number) neg() Number {
	if n.r == nil {
		return inexact(-n.f)
	}
	return Number{r: new(big.Rat).Neg(n.r)}
}

func (n Number) add(m Number) (Number, error) {
	if n.r == nil || m.r == nil {
		return inexact(n.float() + m.float()).checked()
	}
	return Number{r: new(big.Rat).Add(n.r, m.r)}.checked()
}

// times multiplies, divides or takes the remainder.
func (n Number) times(op rune, m Number) (Number, error) {
	if op != '*' && m.float() == 0 && (m.r == nil || m.r.Sign() == 0) {
		return Number{}, wrongSum("Nothing can be divided by zero.")
	}
	if n.r == nil || m.r == nil {
		switch op {
		case '/':
			return inexact(n.float() / m.float()).checked()
		case '%':
			return inexact(n.float() - m.float()*math.Floor(n.float()/m.float())).checked()
		}
		return inexact(n.float() * m.float()).checked()
	}
	switch op {
	case '/':
		return Number{r: new(big.Rat).Quo(n.r, m.r)}.checked()
	case '%':
		q := floorRat(new(big.Rat).Quo(n.r, m.r))
		return Number{r: new(big.Rat).Sub(n.r, q.Mul(q, m.r))}.checked()
	}
	return Number{r: new(big.Rat).Mul(n.r, m.r)}.checked()
}

func floorRat(r *big.Rat) *big.Rat {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	_ = m // Euclidean: with a positive denominator the quotient is the floor
	return new(big.Rat).SetInt(q)
}

func (n Number) pow(m Number) (Number, error) {
	if n.r != nil && m.r != nil && m.r.IsInt() && m.r.Num().IsInt64() {
		e := m.r.Num().Int64()
		size := int64(max(n.r.Num().BitLen(), n.r.Denom().BitLen()))
		if e < 0 && n.r.Sign() == 0 {
			return Number{}, wrongSum("Nothing can be divided by zero.")
		}
		if size <= 1 || (e < maxBits && e > -maxBits && size*max(e, -e) <= maxBits) {
			return Number{r: powRat(n.r, e)}.checked()
		}
		if n.r.IsInt() && e > 0 {
			return Number{}, wrongSum("The result is too long.")
		}
	}
	return inexact(math.Pow(n.float(), m.float())).checked()
}

func powRat(r *big.Rat, e int64) *big.Rat {
	if r.IsInt() && r.Num().BitLen() <= 1 { // -1, 0, 1: the exponent may be anything
		if r.Sign() < 0 && e%2 == 0 {
			return big.NewRat(1, 1)
		}
		if e == 0 {
			return big.NewRat(1, 1)
		}
		return new(big.Rat).Set(r)
	}
	abs := big.NewInt(max(e, -e))
	p := new(big.Rat).SetFrac(new(big.Int).Exp(r.Num(), abs, nil), new(big.Int).Exp(r.Denom(), abs, nil))
	if e < 0 {
		p.Inv(p)
	}
	return p
}

func (n Number) factorial() (Number, error) {
	if n.r == nil || !n.r.IsInt() || n.r.Sign() < 0 {
		return Number{}, wrongSum("A factorial is of a whole number that is not negative.")
	}
	if !n.r.Num().IsInt64() || n.r.Num().Int64() > maxFactorial {
		return Number{}, wrongSum("Factorials are worked out up to %d.", maxFactorial)
	}
	return Number{r: new(big.Rat).SetInt(new(big.Int).MulRange(1, n.r.Num().Int64()))}.checked()
}

// someFunctions is what an error offers.
const someFunctions = "sqrt, round, floor, ceil, abs, min, max, avg, log, ln, exp, sin, cos, tan, gcd"

// call works out a function.
func call(name string, list []Number) (Number, error) {
	if one := single(name); one != nil {
		if len(list) != 1 {
			return Number{}, wrongSum("%s takes one number.", name)
		}
		return one(list[0])
	}
	if len(list) == 0 {
		return Number{}, wrongSum("%s needs numbers in its brackets, or is not known; there are %s.", clip(name, 20), someFunctions)
	}
	switch name {
	case "min", "max":
		best := list[0]
		for _, n := range list[1:] {
			if less(n, best) == (name == "min") {
				best = n
			}
		}
		return best, nil
	case "sum", "avg", "mean", "average":
		total, err := whole(0), error(nil)
		for _, n := range list {
			if total, err = total.add(n); err != nil {
				return Number{}, err
			}
		}
		if name != "sum" {
			return total.times('/', whole(int64(len(list))))
		}
		return total, nil
	case "round":
		return round(list)
	case "gcd", "lcm":
		return divisors(name, list)
	}
	if len(list) != 2 {
		if name == "log" && len(list) == 1 {
			return inexact(math.Log10(list[0].float())).checked()
		}
		return Number{}, wrongSum("%s is not known, or not with %s; there are %s.", clip(name, 20), counted(len(list)), someFunctions)
	}
	a, b := list[0], list[1]
	switch name {
	case "pow", "power":
		return a.pow(b)
	case "mod":
		return a.times('%', b)
	case "log":
		return inexact(math.Log(a.float()) / math.Log(b.float())).checked()
	case "root":
		return inexact(math.Pow(a.float(), 1/b.float())).checked()
	case "atan2":
		return inexact(math.Atan2(a.float(), b.float())).checked()
	case "hypot":
		return inexact(math.Hypot(a.float(), b.float())).checked()
	}
	return Number{}, wrongSum("%q is not known; there are %s.", clip(name, 20), someFunctions)
}

func less(a, b Number) bool {
	if a.r != nil && b.r != nil {
		return a.r.Cmp(b.r) < 0
	}
	return a.float() < b.float()
}

// single is a function of one number, or nil.
func single(name string) func(Number) (Number, error) {
	real := func(f func(float64) float64) func(Number) (Number, error) {
		return func(n Number) (Number, error) { return inexact(f(n.float())).checked() }
	}
	switch name {
	case "sqrt":
		return sqrt
	case "abs":
		return func(n Number) (Number, error) {
			if less(n, whole(0)) {
				n = n.neg()
			}
			return n, nil
		}
	case "floor", "int", "trunc", "ceil":
		return func(n Number) (Number, error) { return cut(name, n) }
	case "factorial", "fact":
		return Number.factorial
	case "ln":
		return real(math.Log)
	case "log2":
		return real(math.Log2)
	case "log10", "lg":
		return real(math.Log10)
	case "exp":
		return real(math.Exp)
	case "sin":
		return real(math.Sin)
	case "cos":
		return real(math.Cos)
	case "tan":
		return real(math.Tan)
	case "asin", "arcsin":
		return real(math.Asin)
	case "acos", "arccos":
		return real(math.Acos)
	case "atan", "arctan":
		return real(math.Atan)
	case "sinh":
		return real(math.Sinh)
	case "cosh":
		return real(math.Cosh)
	case "tanh":
		return real(math.Tanh)
	case "cbrt":
		return real(math.Cbrt)
	case "deg", "degrees":
		return real(func(f float64) float64 { return f * 180 / math.Pi })
	case "rad", "radians":
		return real(func(f float64) float64 { return f * math.Pi / 180 })
	}
	return nil
}

// sqrt is exact where the root is.
func sqrt(n Number) (Number, error) {
	if n.r != nil && n.r.Sign() >= 0 {
		p, q := new(big.Int).Sqrt(n.r.Num()), new(big.Int).Sqrt(n.r.Denom())
		r := new(big.Rat).SetFrac(p, q)
		if new(big.Rat).Mul(r, r).Cmp(n.r) == 0 {
			return Number{r: r}, nil
		}
	}
	return inexact(math.Sqrt(n.float())).checked()
}

func cut(name string, n Number) (Number, error) {
	if n.r == nil {
		if _, err := n.checked(); err != nil {
			return Number{}, err
		}
		n.r = new(big.Rat).SetFloat64(n.f)
	}
	floor := floorRat(n.r)
	up := name == "ceil" || (name == "int" || name == "trunc") && n.r.Sign() < 0
	if up && floor.Cmp(n.r) != 0 {
		floor.Add(floor, big.NewRat(1, 1))
	}
	return Number{r: floor}, nil
}

// round is to the nearest, halves away from zero, to as many places as the second number says.
func round(list []Number) (Number, error) {
	places := int64(0)
	if len(list) > 1 {
		const most = 100
		p := list[1]
		if len(list) > 2 || p.r == nil || !p.r.IsInt() || !p.r.Num().IsInt64() || p.r.Num().Int64() > most || p.r.Num().Int64() < -most {
			return Number{}, wrongSum("round takes a number and how many places, up to %d.", most)
		}
		places = p.r.Num().Int64()
	}
	n := list[0]
	if n.r == nil {
		if _, err := n.checked(); err != nil {
			return Number{}, err
		}
		n.r = new(big.Rat).SetFloat64(n.f)
	}
	scale := powRat(big.NewRat(10, 1), places)
	r := new(big.Rat).Mul(n.r, scale)
	minus := r.Sign() < 0
	r.Abs(r)
	r = floorRat(r.Add(r, big.NewRat(1, 2)))
	if minus {
		r.Neg(r)
	}
	return Number{r: r.Quo(r, scale)}.checked()
}

func divisors(name string, list []Number) (Number, error) {
	var all *big.Int
	for _, n := range list {
		if n.r == nil || !n.r.IsInt() {
			return Number{}, wrongSum("%s takes whole numbers.", name)
		}
		i := new(big.Int).Abs(n.r.Num())
		switch {
		case all == nil:
			all = i
		case name == "gcd":
			all = new(big.Int).GCD(nil, nil, all, i)
		case all.Sign() == 0 || i.Sign() == 0:
			all = new(big.Int)
		default:
			g := new(big.Int).GCD(nil, nil, all, i)
			all = new(big.Int).Mul(all, g.Quo(i, g))
		}
		if all.BitLen() > maxBits {
			return Number{}, wrongSum("The result is too long.")
		}
	}
	return Number{r: new(big.Rat).SetInt(all)}, nil
}

// String writes a number: whole and short decimal ones as they are, others to 15 digits with the fraction behind.
func (n Number) String() string {
	const digits = 15
	if n.r == nil {
		f := n.f
		if f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return strconv.FormatFloat(f, 'f', 0, 64)
		}
		return "about " + strconv.FormatFloat(f, 'g', digits, 64)
	}
	if n.r.IsInt() {
		return n.r.Num().String()
	}
	const places = 30
	if text := n.r.FloatString(places); exactly(text, n.r) {
		return strings.TrimRight(text, "0")
	}
	f, _ := n.r.Float64()
	s := "about " + strconv.FormatFloat(f, 'g', digits, 64)
	if n.r.Num().BitLen()+n.r.Denom().BitLen() < 128 {
		s += " (exactly " + n.r.String() + ")"
	}
	return s
}

func exactly(text string, r *big.Rat) bool {
	back, ok := new(big.Rat).SetString(text)
	return ok && back.Cmp(r) == 0
}

// counted is a count of numbers, in words.
func counted(n int) string {
	if n == 1 {
		return "1 number"
	}
	return fmt.Sprintf("%d numbers", n)
}
