package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"io"
)

// maxFilters bounds how often one stream may be packed.
const maxFilters = 6

// decode unpacks a stream. Of one that is damaged it gives what comes before the damage; of one packed in a way that text is
// not, nothing.
func (f *file) decode(s stream) []byte {
	filters, params := f.list(s.dict["Filter"], s.dict["F"]), f.list(s.dict["DecodeParms"], s.dict["DP"])
	if len(filters) > maxFilters {
		return nil
	}
	data := s.raw
	for k, o := range filters {
		filter, _ := f.get(o).(name)
		var p dict
		if k < len(params) {
			p, _ = f.get(params[k]).(dict)
		}
		switch filter {
		case "FlateDecode", "Fl":
			r, err := zlib.NewReader(bytes.NewReader(data))
			if err != nil {
				return nil
			}
			data = f.predicted(f.readAll(r), p)
		case "LZWDecode", "LZW":
			data = f.predicted(f.lzw(data, f.number(p["EarlyChange"], 1) != 0), p)
		case "ASCIIHexDecode", "AHx":
			data, _, _ = bytes.Cut(data, []byte(">"))
			data = unhex(data)
		case "ASCII85Decode", "A85":
			data, _, _ = bytes.Cut(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~")), []byte("~"))
			data = f.readAll(ascii85.NewDecoder(bytes.NewReader(data)))
		case "RunLengthDecode", "RL":
			data = f.runs(data)
		default:
			return nil // a picture
		}
	}
	return data
}

// list is an array, or the one thing that stands for an array of it.
func (f *file) list(os ...any) []any {
	for _, o := range os {
		switch o := f.get(o).(type) {
		case nil:
		case []any:
			return o
		default:
			return []any{o}
		}
	}
	return nil
}

// readAll reads what there is, as far as the room goes.
func (f *file) readAll(r io.Reader) []byte {
	var out []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		f.take(n)
		out = append(out, buf[:n]...)
		if err != nil {
			return out
		}
	}
}

// take pays for n unpacked bytes.
func (f *file) take(n int) {
	f.spend(n + 1)
	if f.room -= n; f.room < 0 {
		panic(stop{ErrCostly})
	}
}

// runs unpacks run lengths.
func (f *file) runs(in []byte) []byte {
	var out []byte
	for k := 0; k < len(in) && in[k] != 128; {
		n := int(in[k])
		if n < 128 {
			next := min(len(in), k+n+2)
			f.take(next - k - 1)
			out = append(out, in[k+1:next]...)
			k = next
			continue
		}
		if k+1 >= len(in) {
			break
		}
		f.take(257 - n)
		out = append(out, bytes.Repeat(in[k+1:k+2], 257-n)...)
		k += 2
	}
	return out
}

// lzw unpacks the codes of variable width that PDF and TIFF share.
func (f *file) lzw(in []byte, early bool) []byte {
	const clearAll, over, most = 256, 257, 4096
	var out []byte
	table := make([][]byte, 258, most)
	for k := range 256 {
		table[k] = []byte{byte(k)}
	}
	var last []byte
	width, bits, acc := 9, 0, 0
	for _, c := range in {
		acc, bits = acc<<8|int(c), bits+8
		if bits < width {
			continue
		}
		code := acc >> (bits - width)
		bits -= width
		acc &= 1<<bits - 1
		if code == over {
			break
		}
		if code == clearAll {
			table, last, width = table[:258], nil, 9
			continue
		}
		var now []byte
		switch {
		case code < len(table):
			now = table[code]
		case code == len(table) && last != nil:
			now = append(last[:len(last):len(last)], last[0])
		default:
			return out // damaged
		}
		if last != nil && len(table) < most {
			table = append(table, append(last[:len(last):len(last)], now[0]))
		}
		f.take(len(now))
		out, last = append(out, now...), now
		n := len(table)
		if early {
			n++
		}
		for width < 12 && n >= 1<<width {
			width++
		}
	}
	return out
}

// predicted undoes the differences between rows that some writers store.
func (f *file) predicted(data []byte, p dict) []byte {
	kind := int(f.number(p["Predictor"], 1))
	if kind < 2 {
		return data
	}
	const widest = 1 << 20 // bytes of a row; cross-reference rows have about seven
	pixel := int(f.number(p["Colors"], 1)*f.number(p["BitsPerComponent"], 8)+7) / 8
	row := int(f.number(p["Columns"], 1)*f.number(p["Colors"], 1)*f.number(p["BitsPerComponent"], 8)+7) / 8
	if pixel < 1 || row < 1 || pixel > widest || row > widest {
		return nil
	}
	f.spend(len(data))
	if kind == 2 {
		for k := range data {
			if k%row >= pixel {
				data[k] += data[k-pixel]
			}
		}
		return data
	}
	out := make([]byte, 0, len(data))
	above := make([]byte, row)
	for len(data) > 1 {
		how, line := data[0], append([]byte(nil), data[1:min(len(data), row+1)]...)
		data = data[len(line)+1:]
		for k := range line {
			var left, corner byte
			if k >= pixel {
				left, corner = line[k-pixel], above[k-pixel]
			}
			switch how {
			case 1:
				line[k] += left
			case 2:
				line[k] += above[k]
			case 3:
				line[k] += byte((int(left) + int(above[k])) / 2)
			case 4:
				line[k] += paeth(left, above[k], corner)
			}
		}
		out = append(out, line...)
		above = append(line, make([]byte, row-len(line))...)
	}
	return out
}

// paeth is the predictor of that name in the PNG specification.
func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	far := func(x byte) int { return max(p-int(x), int(x)-p) }
	switch {
	case far(a) <= far(b) && far(a) <= far(c):
		return a
	case far(b) <= far(c):
		return b
	}
	return c
}
