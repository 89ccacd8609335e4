package upload_test

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/upload"
)

func TestName(t *testing.T) {
	for sent, want := range map[string]string{
		"report.pdf":             "report.pdf",
		"../../etc/passwd":       "passwd",
		`C:\Users\x\notes.txt`:   "notes.txt",
		"/":                      "file",
		"":                       "file",
		"..":                     "file",
		".env":                   "env",
		"a\x00b\nc\td\x1b[31m.x": "ab c d[31m.x",
		"gnp.\u202etxt.exe":      "gnp.txt.exe",
		"zero\u200bwidth\ufe0f":  "zerowidth",
		"  über  größe .txt ":    "über größe .txt",
		"bad\xffbytes":           "bad\ufffdbytes",
	} {
		if got := upload.Name(sent); got != want {
			t.Errorf("Name(%q) is %q, want %q", sent, got, want)
		}
	}
	long := upload.Name(strings.Repeat("ä", 500) + ".pdf")
	if n := utf8.RuneCountInString(long); n != 120 || !strings.HasSuffix(long, "….pdf") {
		t.Errorf("a long name became %q, %d characters", long, n)
	}
}

func FuzzName(f *testing.F) {
	f.Add("a/b\\c.txt")
	f.Add("\u202e\x00..")
	f.Fuzz(func(t *testing.T, sent string) {
		name := upload.Name(sent)
		if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > 120 || strings.ContainsAny(name, `/\`) || name[0] == '.' {
			t.Fatalf("Name(%q) is %q", sent, name)
		}
		for _, r := range name {
			if !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("Name(%q) holds %U", sent, r)
			}
		}
		if again := upload.Name(name); again != name {
			t.Fatalf("Name(%q) is %q, and of that %q", sent, name, again)
		}
	})
}

// webps are pictures of 3 by 2 pixels, as far as their heads go.
var webps = []string{
	"RIFF\x1a\x00\x00\x00WEBPVP8 \x0e\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x03\x00\x02\x00",
	"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x02\x40\x00\x00\x00\x00\x00\x00\x00",
	"RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x10\x00\x00\x00\x02\x00\x00\x01\x00\x00",
}

func TestImage(t *testing.T) {
	picture := func(encode func(*bytes.Buffer, image.Image) error, wide int) []byte {
		var b bytes.Buffer
		if err := encode(&b, image.NewGray(image.Rect(0, 0, wide, 2))); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	asPNG := func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }
	for want, data := range map[string][]byte{
		"image/png":  picture(asPNG, 3),
		"image/jpeg": picture(func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }, 3),
		"image/gif":  picture(func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }, 3),
		"image/webp": []byte(webps[0]),
		"":           []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"),
	} {
		if got, err := upload.Image(data); got != want || err != nil {
			t.Errorf("%.8q is %q, %v, want %q", data, got, err, want)
		}
	}
	for _, data := range webps[1:] {
		if got, err := upload.Image([]byte(data)); got != "image/webp" || err != nil {
			t.Errorf("%q is %q, %v", data, got, err)
		}
	}
	for what, data := range map[string][]byte{
		"the signature alone": []byte("\x89PNG\r\n\x1a\n"),
		"no JPEG behind it":   []byte("\xff\xd8\xff\xe0 not a picture"),
		"a short WebP":        []byte("RIFF\x00\x00\x00\x00WEBPVP8 "),
		"too wide":            picture(asPNG, 9000),
		"too large":           append(picture(asPNG, 3), make([]byte, upload.MaxImage)...),
	} {
		if got, err := upload.Image(data); got != "" || jackline.KindOf(err) != jackline.Unprocessed {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

func FuzzImage(f *testing.F) {
	for _, w := range webps {
		f.Add([]byte(w))
	}
	f.Add([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xd8\xff\xc0\x00\x11\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, err := upload.Image(data)
		if err != nil && kind != "" {
			t.Fatalf("%q and %v", kind, err)
		}
	})
}
