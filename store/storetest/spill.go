package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

func spill(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	var b strings.Builder
	for i := 0; b.Len() < 300_000; i++ {
		fmt.Fprintf(&b, "%d é 日本 🛥 ", i)
	}
	for name, whole := range map[string]string{
		"empty": "", "short": "one line", "long": b.String(), "binary": strings.Repeat("\xff\x80\x00", 40_000), "exact": strings.Repeat("x", 2*32<<10),
	} {
		t.Run(name, func(t *testing.T) {
			call := jackline.CallID("c_" + name)
			must(t, db.WriteSpill(ctx, alice, s, call, whole))
			read := func(offset, limit int) string {
				t.Helper()
				page, total, err := db.ReadSpill(ctx, alice, call, offset, limit)
				must(t, err)
				if total != len(whole) || len(page) > max(limit, 0)+utf8.UTFMax {
					t.Fatalf("a page of %d bytes, of %d, want at most %d, of %d", len(page), total, limit, len(whole))
				}
				return page
			}
			for _, limit := range []int{1_000_000, 20_000, 32 << 10, 997} {
				var all strings.Builder
				for all.Len() < len(whole) {
					page := read(all.Len(), limit)
					if page == "" {
						t.Fatalf("nothing at %d", all.Len())
					}
					if name != "binary" && !utf8.ValidString(page) {
						t.Fatalf("the page at %d is torn", all.Len())
					}
					all.WriteString(page)
				}
				if all.String() != whole {
					t.Fatalf("pages of %d do not make the whole", limit)
				}
			}
			for range 200 {
				if whole == "" {
					break
				}
				offset, limit := rand.IntN(len(whole)), 1+rand.IntN(50)
				page := read(offset, limit)
				found := false
				for from := max(0, offset-3); from <= offset; from++ {
					found = found || strings.HasPrefix(whole[from:], page)
				}
				if page == "" || !found {
					t.Fatalf("the page at %d is %q", offset, page)
				}
			}
			same(t, "beyond the end", read(len(whole), 10), "")
			same(t, "before the beginning", read(-1, 10), "")
			same(t, "nothing asked for", read(0, 0), "")
		})
	}
	must(t, db.WriteSpill(ctx, alice, s, "c_short", "another text, longer than before"))
	page, total, err := db.ReadSpill(ctx, alice, "c_short", 8, 4)
	if page != "text" || total != 32 || err != nil {
		t.Fatalf("replaced: %q, %d, %v", page, total, err)
	}
	_, _, err = db.ReadSpill(ctx, alice, "c_unknown", 0, 10)
	wantKind(t, err, jackline.NotFound)
	for _, bad := range []jackline.CallID{"", "../x", "a/b", "c.x", "c\x00", `c\x`, jackline.CallID(strings.Repeat("c", 100))} {
		wantKind(t, db.WriteSpill(ctx, alice, s, bad, "x"), jackline.NotFound)
	}
}
