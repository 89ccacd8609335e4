package contract

import "unicode/utf8"

// Weight is the size of a text in characters, where letters that take more tokens count for more: what a token estimate starts
// from. A tokenizer joins some four letters of Latin text into a token, fewer of other alphabets, and of Chinese, Japanese or
// Korean hardly any; and all of them begin at bytes. So letters weigh by the bytes that they have in UTF-8: one byte is one
// character, two are one and a half, three are three and a half (about a token), and four are seven.
func Weight[S ~string | ~[]byte](s S) int {
	ascii, halves := 0, 0
	for i := range len(s) {
		switch b := s[i]; {
		case b < 0x80:
			ascii++
		case b < 0xC0: // it goes on
		case b < 0xE0:
			halves += 3
		case b < 0xF0:
			halves += 7
		default:
			halves += 14
		}
	}
	return ascii + (halves+1)/2
}

// Letters is how many letters of a text have a weight of limit, if it is of one kind throughout; all of them where it weighs no more.
func Letters(text string, limit int) int {
	n, weight := utf8.RuneCountInString(text), Weight(text)
	if weight <= limit {
		return n
	}
	return int(int64(limit) * int64(n) / int64(weight))
}
