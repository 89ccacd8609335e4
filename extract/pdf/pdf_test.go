package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func zipped(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

func stm(dict, body string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(body), body)
}

func flate(dict, body string) string { return stm(dict+" /Filter /FlateDecode", zipped(body)) }

// build makes a file of objects, numbered from 1. The first is the catalogue.
func build(objects ...string) []byte {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	for k, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", k+1, o)
	}
	b.WriteString("trailer\n<< /Root 1 0 R /Info << /Title (A title) >> >>\n%%EOF\n")
	return []byte(b.String())
}

const latin = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

// onePage is a file whose only page has a program, with font F1 as object 5 and whatever else.
func onePage(program string, more ...string) []byte {
	return build(append([]string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F1 5 0 R >> /XObject << /X1 6 0 R >> >> >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", flate("", program), latin,
	}, more...)...)
}

func TestText(t *testing.T) {
	wide := "<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< /DW 600 /W [1 [500 500] 3 9 700] >>] /ToUnicode 7 0 R >>"
	cmap := flate("", "1 begincodespacerange <0000> <ffff> endcodespacerange 2 beginbfchar <0001> <3042> <0002> <d83dde00> endbfchar\n"+
		"2 beginbfrange <0003> <0005> <0041> <0006> <0007> [<0066006C> <007A>] endbfrange")
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"line":     {onePage("BT /F1 12 Tf 72 700 Td (Hello, \\(world\\) \\344\\200) Tj ET"), "Hello, (world) ä€"},
		"lines":    {onePage("BT /F1 12 Tf 14 TL 72 700 Td (one) Tj T* (two) Tj 0 -40 Td (three) ' ET"), "one\ntwo\n\nthree"},
		"kerning":  {onePage("BT /F1 10 Tf 72 700 Td [(Wa) 80 (ter) -400 (falls)] TJ ET"), "Water falls"},
		"scaled":   {onePage("0.1 0 0 0.1 0 0 cm BT /F1 120 Tf 1 0 0 1 720 7000 Tm (big) Tj 1 0 0 1 1200 7000 Tm <736D616C6C> Tj ET"), "big small"},
		"saved":    {onePage("q BT /F1 12 Tf (a) Tj ET Q BT (lost) Tj ET BT /F1 12 Tf 0 -20 Td (b) Tj ET"), "a\nb"},
		"picture":  {onePage("BI /W 1 /H 1 ID \x00(\xff EI BT /F1 12 Tf (seen) Tj ET"), "seen"},
		"form":     {onePage("/X1 Do", stm("/Subtype /Form /Matrix [1 0 0 1 5 5]", "BT /F1 9 Tf (in a form) Tj ET")), "in a form"},
		"wide":     {onePage("BT /F2 12 Tf <0001000200030004000500060007> Tj ET", "<<>>", cmap), ""},
		"unclosed": {onePage("BT /F1 12 Tf (open (nested) Tj ET"), ""},
		"comment":  {onePage("% (no) Tj\nBT /F1 12 Tf (yes) Tj ET"), "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Text(t.Context(), c.file, Options{})
			if err != nil || d.Count != 1 || d.Title != "A title" || d.Pages[0] != c.want {
				t.Errorf("%q %q %d %v, want %q", d.Pages, d.Title, d.Count, err, c.want)
			}
		})
	}
	d, err := Text(t.Context(), build("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
		stm("", "BT /F 12 Tf <0001000200030004000500060007> Tj ET"), wide, "null", cmap), Options{})
	if err != nil || d.Pages[0] != "あ😀ABCflz" {
		t.Errorf("wide: %q %v", d.Pages, err)
	}
	named := "<< /Type /Font /Subtype /Type1 /Encoding << /Differences [1 /fi /adieresis /uni20AC /f_f_l /a.alt /Zcaron /g17 65 /B] >> >>"
	d, err = Text(t.Context(), build("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents [4 0 R 4 0 R] /Resources << /Font << /F 5 0 R >> >> >>",
		stm("", "BT /F 12 Tf (\\001\\002\\003\\004\\005\\006\\007A') Tj ET"), named), Options{})
	if want := "fiä€fflaŽ\aB’"; err != nil || !strings.HasPrefix(d.Pages[0], strings.ReplaceAll(want, "\a", " ")) {
		t.Errorf("named: %q %v", d.Pages, err)
	}
}

// Files are packed, cut short, changed and broken in many ways; what can be read of them is read.
func TestForms(t *testing.T) {
	program := flate("", "BT /F1 12 Tf 72 700 Td (packed) Tj ET")
	inner := "1 0 2 34 3 100 5 200 "
	body := fmt.Sprintf("%-34s%-66s%-100s%s", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>", latin)
	objects := flate(fmt.Sprintf("/Type /ObjStm /N 4 /First %d", len(inner)), inner+body)
	modern := "%PDF-1.5\n4 0 obj\n" + program + "\nendobj\n9 0 obj\n" + objects + "\nendobj\n10 0 obj\n" + flate("/Type /XRef /Root 1 0 R", "junk") + "\nendobj\n"
	pages := build("<< /Pages 2 0 R >>", "<< /Kids [3 0 R 6 0 R 7 0 R] /Resources << /Font << /F1 5 0 R >> >> >>", "<< /Contents 4 0 R >>",
		stm("", "BT /F1 12 Tf (x) Tj ET"), latin, "<< /Kids [3 0 R 8 0 R] >>", "<< /Kids [2 0 R] >>", "<< /Contents 4 0 R >>")
	for name, c := range map[string]struct {
		file []byte
		want []string
	}{
		"object stream":  {[]byte(modern), []string{"packed"}},
		"changed":        {append(onePage("BT /F1 12 Tf (old) Tj ET"), "4 0 obj\n"+stm("", "BT /F1 12 Tf (new) Tj ET")+"\nendobj\n"...), []string{"new"}},
		"wrong length":   {build("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>", "<< /Length 3 >>\nstream\nBT /F1 12 Tf (y) Tj ET\nendstream", latin), []string{"y"}},
		"no trailer":     {bytes.ReplaceAll(onePage("BT /F1 12 Tf (z) Tj ET"), []byte("trailer"), []byte("traiter")), nil},
		"shared pages":   {pages, []string{"x", "x"}},
		"hex":            {onePage("", "<<>>"), []string{""}},
		"broken program": {onePage("BT /F1 12 Tf (a) Tj ] >> } /F1 Tf [ (b) Tj ET"), []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Text(t.Context(), c.file, Options{})
			if name == "no trailer" {
				if err != nil || len(d.Pages) != 1 { // its page is found, though not what it inherits
					t.Errorf("%q %v", d.Pages, err)
				}
				return
			}
			if err != nil || strings.Join(d.Pages, "|") != strings.Join(c.want, "|") {
				t.Errorf("%q %v, want %q", d.Pages, err, c.want)
			}
		})
	}
	d, err := Text(t.Context(), pages, Options{First: 2, Pages: 5})
	if err != nil || d.Count != 2 || d.First != 2 || len(d.Pages) != 1 {
		t.Errorf("%+v %v", d, err)
	}
	if d, err = Text(t.Context(), pages, Options{First: 9}); err != nil || len(d.Pages) != 0 {
		t.Errorf("%+v %v", d, err)
	}
	if d, err = Text(t.Context(), pages, Options{Chars: 1}); err != nil || len(d.Pages) != 1 {
		t.Errorf("%+v %v", d, err)
	}
}

func TestFilters(t *testing.T) {
	f := &file{ctx: t.Context(), purse: maxWork, room: maxDecoded}
	for name, c := range map[string]struct{ filter, in, want string }{
		"hex":      {"/ASCIIHexDecode", "68 65 6C6c6F>", "hello"},
		"85":       {"[/A85]", "<~87cURDZ~>", "Hello"},
		"runs":     {"/RL", "\x01ab\xfec\x80zz", "abccc"},
		"lzw":      {"/LZW", "\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01", "-----A---B"},
		"chain":    {"[/AHx /Fl]", fmt.Sprintf("%x>", zipped("chained")), "chained"},
		"cut":      {"/Fl", zipped(strings.Repeat("abc", 9))[:12], "abc"},
		"up":       {"/Fl /DecodeParms << /Predictor 12 /Columns 2 >>", zipped("\x02ab\x02\x01\x01"), "abbc"},
		"paeth":    {"/Fl /DecodeParms << /Predictor 15 /Columns 3 >>", zipped("\x04abc\x01a\x01\x01\x03aaa\x00xyz"), "a\xc3\x26abc\x91\xda\xffxyz"},
		"tiff":     {"/Fl /DecodeParms << /Predictor 2 /Columns 3 >>", zipped("a\x01\x01b\x01\x01"), "abcbcd"},
		"picture":  {"/DCTDecode", "xx", ""},
		"no flate": {"/Fl", "xx", ""},
		"widest":   {"/Fl /DecodeParms << /Predictor 12 /Columns 999999999999 >>", zipped("x"), ""},
		"too many": {"[" + strings.Repeat("/AHx ", 9) + "]", "61>", ""},
	} {
		l := &lexer{f: f, data: []byte(stm("/Filter "+c.filter, c.in))}
		s, ok := l.object(0).(stream)
		if got := string(f.decode(s)); !ok || !strings.HasPrefix(got, c.want) || name != "cut" && got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// None of these may hang, fill memory or bring the program down; each ends in an error or in what can be read.
func TestHostile(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"empty":                   {nil, ErrBroken},
		"no pdf":                  {[]byte("hello"), ErrBroken},
		"encrypted":               {[]byte(strings.Replace(string(onePage("")), "/Root", "/Encrypt 9 0 R /Root", 1)), ErrEncrypted},
		"pages in a circle":       {build("<< /Pages 2 0 R >>", "<< /Kids [2 0 R 1 0 R 3 0 R] >>", "<< /Kids [2 0 R] >>"), nil},
		"references in a circle":  {[]byte("1 0 obj 2 0 R endobj 2 0 obj 1 0 R endobj trailer << /Root 1 0 R >>"), ErrBroken},
		"object stream in itself": {[]byte("5 0 obj " + stm("/Type /ObjStm /N 1 /First 4 /Length 5 0 R", "5 0 5 0 R") + " endobj trailer << /Root 5 0 R >>"), ErrBroken},
		"length in itself":        {[]byte("1 0 obj << /Length 1 0 R >> stream x endstream trailer << /Root 1 0 R >>"), ErrBroken},
		"form in itself":          {onePage(many("/X1 Do ", 50), stm("/Subtype /Form", many("/X1 Do ", 50))), ErrCostly},
		"deep":                    {[]byte("1 0 obj " + many("[", 1<<17)), ErrBroken},
		"deep and packed":         {onePage(many("[", 1<<17)), nil},
		"open texts":              {[]byte(many("1 0 obj (", 1<<18)), ErrCostly},
		"open streams":            {[]byte(many("1 0 obj<<>>stream\n", 1<<18)), ErrBroken},
		"bomb":                    {onePage(many(" ", 40<<20)), ErrCostly},
		"bombs":                   {build("<< /Pages 2 0 R >>", "<< /Kids ["+many("3 0 R ", 1000)+"] >>", "<< /Contents ["+many("4 0 R ", 1000)+"] >>", flate("", many("q ", 1<<20))), ErrCostly},
		"wide range": {build("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
			stm("", "BT /F 12 Tf (x) Tj ET"), "<< /Subtype /Type0 /ToUnicode 6 0 R /DescendantFonts [<< /W [0 99999999999 5 "+many("0 99999999999 5 ", 500)+"] >>] >>",
			flate("", many("9 beginbfrange <00000000> <ffffffff> <0041> endbfrange ", 500)+"99999999999 endbfchar")), nil},
		"many saved":   {onePage(many("q ", 1<<20) + "BT /F1 12 Tf (a) Tj ET"), nil},
		"huge numbers": {onePage("1e308 1e308 1e308 1e308 1e308 1e308 cm BT /F1 1e308 Tf 1e308 1e308 Td (a) Tj 99999999999999999999 -1e308 Td (b) Tj ET"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := read(t.Context(), c.file, Options{}, maxWork/8) // the same, sooner
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%v, want %v", err, c.want)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Text(ctx, onePage(many("q ", 1<<20)), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

func FuzzText(f *testing.F) {
	f.Add(onePage("BT /F1 12 Tf 72 700 Td (Hello) Tj [(a) 5 (b)] TJ ET", stm("/Subtype /Form", "BT (x) Tj ET")))
	f.Add([]byte("%PDF-1.5\n9 0 obj\n" + stm("/Type /ObjStm /N 1 /First 4", "1 0 << /Type /Page >>") + "\nendobj\n10 0 obj\n" + stm("/Type /XRef /Root 1 0 R /Filter [/LZW /RL /A85]", "junk") + "\nendobj\n"))
	f.Add(build("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>", stm("", "BT /F 12 Tf (abc) Tj ET"),
		"<< /Subtype /Type0 /ToUnicode 6 0 R /DescendantFonts [<< /W [1 [5] 2 3 4] >>] >>", stm("", "1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <61> <63> <0041> endbfrange")))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Text(t.Context(), data, Options{})
		if err == nil && d.Count < len(d.Pages) {
			t.Errorf("%d of %d pages", len(d.Pages), d.Count)
		}
		if err != nil && !errors.Is(err, ErrBroken) && !errors.Is(err, ErrEncrypted) && !errors.Is(err, ErrCostly) {
			t.Errorf("%v", err)
		}
		if err != nil && strings.Contains(err.Error(), "runtime error") {
			t.Errorf("%v", err)
		}
	})
}
