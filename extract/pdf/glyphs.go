package pdf

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// glyphs are the glyph names that are not their own character, nor a letter with an accent.
var glyphs = map[string]rune{
	"space": ' ', "nbspace": ' ', "nonbreakingspace": ' ', "exclam": '!', "quotedbl": '"', "numbersign": '#', "dollar": '$',
	"percent": '%', "ampersand": '&', "quotesingle": '\'', "parenleft": '(', "parenright": ')', "asterisk": '*', "plus": '+',
	"comma": ',', "hyphen": '-', "sfthyphen": '-', "softhyphen": '-', "period": '.', "slash": '/', "zero": '0', "one": '1', "two": '2',
	"three": '3', "four": '4', "five": '5', "six": '6', "seven": '7', "eight": '8', "nine": '9', "colon": ':', "semicolon": ';',
	"less": '<', "equal": '=', "greater": '>', "question": '?', "at": '@', "bracketleft": '[', "backslash": '\\', "bracketright": ']',
	"asciicircum": '^', "underscore": '_', "grave": '`', "braceleft": '{', "bar": '|', "braceright": '}', "asciitilde": '~',
	"quoteleft": '‘', "quoteright": '’', "quotedblleft": '“', "quotedblright": '”', "quotesinglbase": '‚', "quotedblbase": '„',
	"guilsinglleft": '‹', "guilsinglright": '›', "guillemotleft": '«', "guillemotright": '»', "endash": '–', "emdash": '—', "bullet": '•',
	"ellipsis": '…', "dagger": '†', "daggerdbl": '‡', "perthousand": '‰', "trademark": '™', "registered": '®', "copyright": '©',
	"section": '§', "paragraph": '¶', "degree": '°', "plusminus": '±', "multiply": '×', "divide": '÷', "minus": '−', "fraction": '⁄',
	"onehalf": '½', "onequarter": '¼', "threequarters": '¾', "onesuperior": '¹', "twosuperior": '²', "threesuperior": '³', "mu": 'µ',
	"mu1": 'µ', "periodcentered": '·', "middot": '·', "cent": '¢', "sterling": '£', "yen": '¥', "Euro": '€', "euro": '€', "currency": '¤',
	"florin": 'ƒ', "exclamdown": '¡', "questiondown": '¿', "ordfeminine": 'ª', "ordmasculine": 'º', "brokenbar": '¦', "logicalnot": '¬',
	"macron": '¯', "acute": '´', "cedilla": '¸', "dieresis": '¨', "circumflex": 'ˆ', "tilde": '˜', "breve": '˘', "dotaccent": '˙', "ring": '˚',
	"hungarumlaut": '˝', "ogonek": '˛', "caron": 'ˇ', "AE": 'Æ', "ae": 'æ', "OE": 'Œ', "oe": 'œ', "Oslash": 'Ø', "oslash": 'ø', "Lslash": 'Ł',
	"lslash": 'ł', "Eth": 'Ð', "eth": 'ð', "Thorn": 'Þ', "thorn": 'þ', "germandbls": 'ß', "dotlessi": 'ı', "dotlessj": 'ȷ', "Dcroat": 'Đ',
	"dcroat": 'đ', "Hbar": 'Ħ', "hbar": 'ħ', "ff": 'ﬀ', "fi": 'ﬁ', "fl": 'ﬂ', "ffi": 'ﬃ', "ffl": 'ﬄ', "infinity": '∞', "notequal": '≠',
	"lessequal": '≤', "greaterequal": '≥', "approxequal": '≈', "partialdiff": '∂', "summation": '∑', "product": '∏', "integral": '∫',
	"radical": '√', "lozenge": '◊', "arrowright": '→', "arrowleft": '←', "arrowup": '↑', "arrowdown": '↓', "checkmark": '✓', "Omega": 'Ω',
	"Delta": 'Δ', "alpha": 'α', "beta": 'β', "gamma": 'γ', "delta": 'δ', "epsilon": 'ε', "zeta": 'ζ', "eta": 'η', "theta": 'θ', "iota": 'ι',
	"kappa": 'κ', "lambda": 'λ', "nu": 'ν', "xi": 'ξ', "omicron": 'ο', "pi": 'π', "rho": 'ρ', "sigma": 'σ', "tau": 'τ', "upsilon": 'υ',
	"phi": 'φ', "chi": 'χ', "psi": 'ψ', "omega": 'ω', "Gamma": 'Γ', "Theta": 'Θ', "Lambda": 'Λ', "Xi": 'Ξ', "Pi": 'Π', "Sigma": 'Σ', "Phi": 'Φ',
	"Psi": 'Ψ',
}

// accents are the ends of names such as adieresis, with the mark that each puts on its letter.
var accents = map[string]rune{
	"grave": 0x300, "acute": 0x301, "circumflex": 0x302, "tilde": 0x303, "macron": 0x304, "breve": 0x306, "dotaccent": 0x307, "dieresis": 0x308,
	"ring": 0x30a, "hungarumlaut": 0x30b, "caron": 0x30c, "cedilla": 0x327, "commaaccent": 0x327, "ogonek": 0x328,
}

// accented reads a name of a letter and an accent, or gives 0.
func accented(n string) rune {
	if len(n) < 2 || n[0] < 'A' || n[0] > 'z' {
		return 0
	}
	mark, ok := accents[n[1:]]
	if !ok {
		return 0
	}
	if r := []rune(norm.NFC.String(string([]rune{rune(n[0]), mark}))); len(r) == 1 {
		return r[0]
	}
	return 0
}

// spelled writes ligatures out, as people search for the letters.
var spelled = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st", "\u00a0", " ", "\u00ad", "-")
