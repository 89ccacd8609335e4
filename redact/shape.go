package redact

import "strings"

// A set is the bytes that a token of one shape may hold.
type set [256]bool

func setOf(chars string) *set {
	var s set
	for k := 0; k < len(chars); k++ {
		s[chars[k]] = true
	}
	return &s
}

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// A shape is how tokens of one issuer look: how they begin, what may follow and at least how much of it. Tokens are hidden
// at their full length: all that may belong to it goes.
type shape struct {
	start string
	of    charset
	least int    // characters behind the start
	what  string // for the placeholder
}

type charset int

const (
	alnum  charset = iota // letters and digits
	dashed                // those, '-' and '_'
	dotted                // those, '-', '_' and '.'
	hexed                 // hexadecimal digits
	based                 // those of base64, with its signs
	capped                // capitals and digits
)

// shapes are the token shapes by their first byte; the facts are from the issuers' own pages and from the rules of public
// secret scanners.
func shapes(first byte) []shape {
	switch first {
	case 'g':
		return []shape{
			{"ghp_", alnum, 20, kindToken}, {"gho_", alnum, 20, kindToken}, {"ghu_", alnum, 20, kindToken}, {"ghs_", dotted, 20, kindToken},
			{"ghr_", alnum, 20, kindToken}, {"github_pat_", dashed, 20, kindToken}, {"glpat-", dotted, 16, kindToken}, {"gldt-", dashed, 16, kindToken},
			{"glrt-", dotted, 16, kindToken}, {"glcbt-", dashed, 16, kindToken}, {"glptt-", dashed, 16, kindToken}, {"glft-", dashed, 16, kindToken},
			{"glsoat-", dashed, 16, kindToken}, {"glimt-", dashed, 16, kindToken}, {"glagent-", dashed, 16, kindToken}, {"gloas-", dashed, 16, kindToken},
			{"glc_", based, 24, kindToken}, {"glsa_", dashed, 24, kindToken}, {"gsk_", alnum, 20, kindKey},
		}
	case 's':
		return []shape{
			{"sk-", dashed, 16, kindKey}, {"sk_live_", alnum, 10, kindKey}, {"sk_test_", alnum, 10, kindKey}, {"sk_prod_", alnum, 10, kindKey},
			{"shpat_", alnum, 20, kindToken}, {"shpca_", alnum, 20, kindToken}, {"shppa_", alnum, 20, kindToken}, {"shpss_", alnum, 20, kindSecret},
			{"sq0atp-", dashed, 16, kindToken}, {"sq0csp-", dashed, 16, kindSecret}, {"sbp_", alnum, 20, kindToken}, {"sb_secret_", dashed, 16, kindKey},
			{"secret_", alnum, 30, kindKey}, {"sntrys_", dotted, 30, kindToken}, {"sntryu_", alnum, 30, kindToken}, {"shippo_live_", alnum, 20, kindToken},
			{"sl.", dashed, 40, kindToken}, {"sgp_", dashed, 30, kindToken},
		}
	case 'r':
		return []shape{
			{"rk_live_", alnum, 10, kindKey}, {"rk_test_", alnum, 10, kindKey}, {"r8_", alnum, 20, kindToken}, {"re_", dashed, 20, kindKey},
			{"rubygems_", alnum, 30, kindToken}, {"rpa_", alnum, 30, kindKey}, {"rdme_", alnum, 30, kindKey}, {"ragflow-", alnum, 30, kindKey},
		}
	case 'w':
		return []shape{{"whsec_", based, 16, kindSecret}, {"wpt_", alnum, 20, kindToken}}
	case 'h':
		return []shape{
			{"hf_", alnum, 20, kindToken}, {"hvs.", dashed, 20, kindToken}, {"hvb.", dashed, 20, kindToken}, {"hvr.", dashed, 20, kindToken},
		}
	}
	return moreShapes(first)
}

// moreShapes are the rest of the shapes.
func moreShapes(first byte) []shape {
	switch first {
	case 'n':
		return []shape{
			{"npm_", alnum, 20, kindToken}, {"ntn_", alnum, 30, kindToken}, {"nvapi-", dashed, 20, kindKey}, {"nfp_", alnum, 20, kindToken},
			{"nfc_", alnum, 20, kindToken},
		}
	case 'x':
		return []shape{
			{"xoxb-", dashed, 16, kindToken}, {"xoxp-", dashed, 16, kindToken}, {"xoxa-", dashed, 16, kindToken}, {"xoxr-", dashed, 16, kindToken},
			{"xoxs-", dashed, 16, kindToken}, {"xoxo-", dashed, 16, kindToken}, {"xoxc-", dashed, 16, kindToken}, {"xoxd-", based, 16, kindToken},
			{"xoxe-", dashed, 16, kindToken}, {"xoxe.", dotted, 16, kindToken}, {"xapp-", dashed, 16, kindToken}, {"xai-", alnum, 20, kindKey},
			{"xkeysib-", dashed, 30, kindKey}, {"xsmtpsib-", dashed, 30, kindKey}, {"xau_", alnum, 20, kindKey},
		}
	case 'd':
		return []shape{
			{"dop_v1_", alnum, 20, kindToken}, {"doo_v1_", alnum, 20, kindToken}, {"dor_v1_", alnum, 20, kindToken}, {"dapi", hexed, 32, kindToken},
			{"dckr_pat_", dashed, 16, kindToken}, {"dckr_oat_", dashed, 16, kindToken}, {"dp.pt.", alnum, 20, kindToken}, {"dp.st.", dotted, 20, kindToken},
			{"dp.ct.", alnum, 20, kindToken}, {"dt0c01.", dotted, 30, kindToken}, {"duffel_live_", dashed, 20, kindToken},
		}
	case 'p':
		return []shape{
			{"pypi-", dashed, 30, kindToken}, {"pplx-", alnum, 20, kindKey}, {"pul-", alnum, 30, kindToken}, {"phx_", alnum, 20, kindKey},
			{"pcsk_", dashed, 20, kindKey}, {"pat-na1-", dashed, 30, kindToken}, {"pat-eu1-", dashed, 30, kindToken}, {"pscale_tkn_", dotted, 20, kindToken},
			{"pscale_pw_", dotted, 20, kindPassword}, {"pscale_oauth_", dotted, 20, kindToken}, {"pnu_", alnum, 30, kindKey},
		}
	case 't':
		return []shape{{"tvly-", dashed, 16, kindKey}, {"tskey-", dashed, 16, kindKey}, {"tfp_", dashed, 30, kindToken}, {"tgp_v1_", dashed, 20, kindKey}}
	case 'l':
		return []shape{
			{"lin_api_", alnum, 20, kindKey}, {"lin_oauth_", alnum, 20, kindToken}, {"lsv2_pt_", dashed, 20, kindKey}, {"lsv2_sk_", dashed, 20, kindKey},
		}
	case 'f':
		return []shape{
			{"figd_", dashed, 20, kindToken}, {"fw_", alnum, 20, kindKey}, {"fm1r_", based, 30, kindToken}, {"fm2_", based, 30, kindToken},
			{"fo1_", dashed, 30, kindToken}, {"fc-", hexed, 30, kindKey}, {"flb_live_", alnum, 10, kindKey}, {"FLWSECK", dashed, 20, kindKey},
		}
	case 'a':
		return []shape{{"apify_api_", alnum, 20, kindToken}, {"aio_", alnum, 24, kindKey}, {"api_org_", alnum, 30, kindToken}, {"atlasv1.", dashed, 30, kindToken}}
	case 'c':
		return []shape{{"cio", alnum, 32, kindToken}, {"cfat_", dashed, 30, kindToken}, {"cfut_", dashed, 30, kindToken}, {"csk-", alnum, 30, kindKey}, {"clojars_", alnum, 40, kindToken}}
	case 'e':
		return []shape{{"e2b_", alnum, 20, kindKey}, {"esecret_", alnum, 16, kindKey}, {"eyJ", dotted, 20, kindToken}}
	case 'j':
		return []shape{{"jina_", dashed, 30, kindKey}}
	case 'k':
		return []shape{{"key-", hexed, 32, kindKey}}
	case 'm':
		return []shape{{"mlsn.", alnum, 30, kindKey}}
	case 'o':
		return []shape{{"oy2", alnum, 43, kindKey}, {"ops_eyJ", dashed, 30, kindToken}, {"osk_", alnum, 30, kindKey}}
	case 'v':
		return []shape{{"vcp_", alnum, 20, kindToken}, {"vck_", alnum, 20, kindKey}, {"v1.0-", dashed, 60, kindToken}}
	case 'y':
		return []shape{{"ya29.", dotted, 20, kindToken}}
	case 'z':
		return []shape{{"zpka_", dashed, 20, kindKey}}
	case 'A':
		return []shape{
			{"AKIA", capped, 16, kindKey}, {"ASIA", capped, 16, kindKey}, {"ABIA", capped, 16, kindKey}, {"ACCA", capped, 16, kindKey},
			{"AIza", dashed, 30, kindKey}, {"AGE-SECRET-KEY-1", capped, 30, kindKey}, {"ATATT3", dashed, 30, kindToken}, {"ATCTT3", dashed, 30, kindToken},
			{"ATBB", alnum, 28, kindToken}, {"ABSK", based, 60, kindKey}, {"AKID", alnum, 32, kindKey},
		}
	case 'B':
		return []shape{{"BSA", dashed, 24, kindKey}, {"BBDC-", based, 30, kindToken}}
	case 'C':
		return []shape{{"CFPAT-", dashed, 30, kindToken}}
	case 'E':
		return []shape{{"EZAK", alnum, 54, kindKey}, {"EZTK", alnum, 54, kindKey}}
	case 'G':
		return []shape{{"GOCSPX-", dashed, 16, kindSecret}}
	case 'L':
		return []shape{{"LTAI", alnum, 16, kindKey}}
	case 'N':
		return []shape{{"NRAK-", alnum, 20, kindKey}}
	case 'P':
		return []shape{{"PMAK-", dashed, 30, kindKey}}
	case 'S':
		return []shape{{"SG.", dotted, 30, kindKey}, {"SK", hexed, 32, kindKey}}
	}
	return nil
}

// A shapes table answers for each first byte without allocating.
type shapeTable struct {
	by    [256][]shape
	pairs [1 << 16 / 64]uint64 // the first two bytes of all tokens that are looked for
	sets  [capped + 1]*set
	words set // bytes of words
}

// begins reports whether a token may begin with these two bytes. All words are asked about, and few may.
func (t *shapeTable) begins(a, b byte) bool {
	p := int(a)<<8 | int(b)
	return t.pairs[p/64]>>(p%64)&1 != 0
}

func (t *shapeTable) may(a, b byte) {
	p := int(a)<<8 | int(b)
	t.pairs[p/64] |= 1 << (p % 64)
}

func newShapes() *shapeTable {
	t := &shapeTable{}
	for k := range t.by {
		t.by[k] = shapes(byte(k))
		for _, sh := range t.by[k] {
			t.may(sh.start[0], sh.start[1])
		}
		t.words[k] = wordByte(byte(k))
		// The tokens of bots.
		for _, first := range "0123456789" {
			if kindOf(byte(k)) == 'd' {
				t.may(byte(first), byte(k))
			}
		}
		for _, first := range "MNO" {
			t.may(byte(first), byte(k))
		}
	}
	t.may('b', 'o')
	t.sets[alnum] = setOf(digits + lower + upper)
	t.sets[dashed] = setOf(digits + lower + upper + "-_")
	t.sets[dotted] = setOf(digits + lower + upper + "-_.")
	t.sets[hexed] = setOf(digits + "abcdefABCDEF")
	t.sets[based] = setOf(digits + lower + upper + "-_+/=")
	t.sets[capped] = setOf(digits + upper)
	return t
}

// token looks for a token at the start of text, which begins at a word's boundary. It says how long it is and what it is; more
// means that it cannot be told yet, for want of text.
func (t *shapeTable) token(text string, final bool) (n int, what string, more bool) {
	for _, sh := range t.by[text[0]] {
		if len(text) < len(sh.start) {
			if !final && strings.HasPrefix(sh.start, text) {
				more = true
			}
			continue
		}
		if !strings.HasPrefix(text, sh.start) {
			continue
		}
		of := t.sets[sh.of]
		end := len(sh.start)
		for most := end + sh.least + enough; end < len(text) && of[text[end]] && end < most; {
			end++
		}
		switch {
		case end == len(text) && !final:
			more = true
			continue
		case end-len(sh.start) < sh.least || sh.start != "eyJ" && sh.start != "SG." && !tokenish(sh, text[len(sh.start):end]):
			continue
		}
		for end < len(text) && of[text[end]] && end < maxLook {
			end++
		}
		if end == len(text) && !final && end < maxLook {
			// Its end may be cut short.
			more = true
			continue
		}
		for end > len(sh.start) && text[end-1] == '.' {
			end-- // a sentence's
		}
		if end-len(sh.start) < sh.least || strings.Contains(text[:end], "EXAMPLE") || !tokenish(sh, text[len(sh.start):end]) {
			continue
		}
		return end, sh.what, false
	}
	return 0, "", more
}

// tokenish reports whether what follows the start of a shape looks drawn by lot, as it does in a token and not in a name that begins like
// one.
func tokenish(sh shape, rest string) bool {
	switch sh.start {
	case "eyJ":
		return strings.Count(rest, ".") >= 1 && len(rest) >= 2*sh.least
	case "AKIA", "ASIA", "ABIA", "ACCA":
		return len(rest) == sh.least
	case "SG.":
		return strings.IndexByte(rest, '.') >= 16
	case "SK", "dapi":
		return len(rest) == sh.least
	}
	return drawn(rest)
}

// drawn reports whether a text looks drawn by lot: some part of it, between signs, mixes letters and digits as no word does, or
// has capitals where no word has them.
func drawn(text string) bool {
	if len(text) < 8 {
		return false
	}
	digits, letters, parts := 0, 0, 1
	changes, caps, size := 0, 0, 0 // of this part
	random := false
	var was byte
	for k := 0; k <= len(text); k++ {
		var c byte
		if k < len(text) {
			c = kindOf(text[k])
		}
		if c == 0 {
			random = random || changes >= 4 || caps >= 4 && size < 3*caps || changes >= 2 && caps >= 2 && size < 4*caps
			if k < len(text) {
				parts++
			}
			changes, caps, size, was = 0, 0, 0, 0
			continue
		}
		size++
		if c == 'd' {
			digits++
		} else {
			letters++
		}
		if was != 0 && (c == 'd') != (was == 'd') {
			changes++
		}
		if c == 'U' && was != 'U' && was != 0 {
			caps++
		}
		was = c
	}
	return random || digits >= 3 && letters >= 3 && parts == 1 && len(text) >= 16
}

// kindOf is the kind of a byte: 'd' a digit, 'U' a capital, 'l' a small letter, 0 none of them.
func kindOf(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return 'd'
	case c >= 'A' && c <= 'Z':
		return 'U'
	case c >= 'a' && c <= 'z':
		return 'l'
	}
	return 0
}
