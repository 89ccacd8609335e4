// Package upload looks at files that came from outside: what they are called, and whether they are pictures. It decides by the
// bytes, and takes no word of whoever sent them.
package upload

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/gif"  // reads the head of GIF
	_ "image/jpeg" // and of JPEG
	_ "image/png"  // and of PNG
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
)

// Named limits.
const (
	// MaxFile bounds one file: a long book as PDF.
	MaxFile = 20 << 20
	// MaxImage bounds a picture. It is sent to the model with every request, in base64, and cloud engines take no more than 5 MiB
	// of that.
	MaxImage = 3700 << 10
	// maxSide bounds the sides of a picture, in pixels: engines refuse larger ones.
	maxSide = 8000
	// maxName bounds a name, in characters.
	maxName = 120
)

// Name is what a file is to be called on a page and to a model: the last part of whatever path was sent, in one line, without
// control, invisible or direction-changing characters. The ending stays where a long name is cut. A name of which nothing is left
// is "file".
func Name(sent string) string {
	sent = strings.ToValidUTF8(sent, "\ufffd")
	if i := strings.LastIndexAny(sent, `/\`); i >= 0 {
		sent = sent[i+1:]
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return -1
		}
		return r
	}, sent)
	name = strings.TrimLeft(strings.Join(strings.Fields(name), " "), ".")
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > maxName {
		const longestEnding = 12 // characters, with the dot
		ending := ""
		if i := strings.LastIndexByte(name, '.'); i > 0 && utf8.RuneCountInString(name[i:]) <= longestEnding {
			ending = name[i:]
		}
		keep := maxName - 1 - utf8.RuneCountInString(ending)
		name = string([]rune(name)[:keep]) + "…" + ending
	}
	if name == "" {
		return "file"
	}
	return name
}

// Image says which picture data is: its media type, or "" for what is none. A picture that no model could read is Unprocessed.
func Image(data []byte) (mediaType string, err error) {
	const op = "upload.Image"
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		mediaType = "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		mediaType = "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		mediaType = "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		mediaType = "image/webp"
	default:
		return "", nil
	}
	if len(data) > MaxImage {
		return "", jackline.E(op, jackline.Unprocessed, nil, "This picture has %.1f MB; models take up to %.1f MB. Make it smaller, and attach it again.",
			float64(len(data))/1e6, float64(MaxImage)/1e6)
	}
	wide, high, ok := size(mediaType, data)
	switch {
	case !ok || wide <= 0 || high <= 0:
		return "", jackline.E(op, jackline.Unprocessed, nil, "This picture is damaged.")
	case wide > maxSide || high > maxSide:
		return "", jackline.E(op, jackline.Unprocessed, nil, "This picture is %d by %d pixels; models take up to %d a side. Make it smaller, and attach it again.", wide, high, maxSide)
	}
	return mediaType, nil
}

// size reads the sides of a picture off its head. Nothing is unpacked.
func size(mediaType string, data []byte) (wide, high int, ok bool) {
	if mediaType == "image/webp" {
		return webp(data)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	return c.Width, c.Height, err == nil && "image/"+format == mediaType
}

// webp reads the sides of a WebP picture. See RFC 9649, sections 2.5 to 2.7.
func webp(data []byte) (wide, high int, ok bool) {
	const head = 30 // the file's head, one chunk's head, and what tells the sides
	if len(data) < head {
		return 0, 0, false
	}
	body := data[20:]
	switch string(data[12:16]) {
	case "VP8 ":
		if !bytes.Equal(body[3:6], []byte{0x9d, 0x01, 0x2a}) {
			return 0, 0, false
		}
		const sides = 0x3fff // the upper two bits are a scale
		return int(binary.LittleEndian.Uint16(body[6:]) & sides), int(binary.LittleEndian.Uint16(body[8:]) & sides), true
	case "VP8L":
		if body[0] != 0x2f {
			return 0, 0, false
		}
		bits := binary.LittleEndian.Uint32(body[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, true
	case "VP8X":
		three := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return three(body[4:]) + 1, three(body[7:]) + 1, true
	}
	return 0, 0, false
}
