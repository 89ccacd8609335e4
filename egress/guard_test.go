package egress

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

func strict(t testing.TB) *Guard {
	t.Helper()
	g, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Each way to write an address has one answer, whatever its name would resolve to.
func TestForm(t *testing.T) {
	g := strict(t)
	long := strings.Repeat("a", 63)
	for raw, want := range map[string]string{
		"http://example.org":                    "http://example.org",
		"HTTPS://Example.ORG:443/A?b=C#d":       "https://example.org/A?b=C#d",
		"http://example.org:8080/":              "http://example.org:8080/",
		"http://example.org:443/":               "http://example.org:443/",
		"http://example.org:/":                  "http://example.org/",
		"https://example.org./x":                "https://example.org/x",
		"https://r3---sn-4g5e6nsz.example.com/": "https://r3---sn-4g5e6nsz.example.com/",
		"https://bücher.example/":               "https://xn--bcher-kva.example/",
		"https://BÜCHER.example/":               "https://xn--bcher-kva.example/",
		"https://bu\u0308cher.example/":         "https://xn--bcher-kva.example/",
		"https://xn--bcher-kva.example/ä":       "https://xn--bcher-kva.example/ä",
		"https://пример.example/":               "https://xn--e1afmkfd.example/",
		"https://ドメイン名例.example/":               "https://xn--eckwd4c7cu47r2wf.example/",
		"https://サーバー.example/":                 "https://xn--vckucxgb.example/",
		"https://日本語abc.example/":               "https://xn--abc-s08fl0dtz6h.example/",
		"https://ελλάδα.example/":               "https://xn--hxakic4aa.example/",
		"https://paraŀ.example":                 "", "https://한국어カナ.example/": "", "https://日本语ω.example/": "", "https://ꭰꭱ.example/": "",
		"https://col·lecció.example/":            "https://xn--collecci-ioa91d.example/",
		"https://[2606:4700:4700::1111]:8443/":   "https://[2606:4700:4700::1111]:8443/",
		"https://[2606:4700:4700::ABCD]/":        "https://[2606:4700:4700::abcd]/",
		"https://8.8.8.8./":                      "https://8.8.8.8/",
		"https://example.org/a%2fb?u=http://x@y": "https://example.org/a%2fb?u=http://x@y",

		"": "", "//example.org/": "", "http:///x": "", "http://?x": "", "ftp://example.org/": "", " http://example.org/": "",
		"http://exa\u200bmple.org/": "", "http://example.org/\u202ex": "", "http://example.org/\ufe0f": "", "http://example.org/\u00a0": "",
		"http://example.org/a b": "", "http://example.org/\t": "", "http://example.org/a\nb": "", "http://example.org/\x00": "",
		"http://example.org\\@a.org/": "", "http://example.org/\\": "", "http://a@example.org/": "", "http://:@example.org/": "",
		"http://exam%70le.org/": "", "http://[fe80::1%25eth0]/": "", "http://example.org/%zz": "", "http://example.org/\xff": "",
		"http://example.org:080/": "", "http://example.org:+80/": "", "http://example.org:80:80/": "", "http://example.org:81/": "",
		"http://example.org:65616/": "", "http://example..org/": "", "http://.example.org/": "", "http://example.org../": "", "http://./": "",
		"http://-a.org/": "", "http://a-.org/": "", "http://a_b.org/": "", "http://exa!mple.org/": "", "http://" + long + "a.org/": "",
		"http://" + strings.Repeat(long+".", 4) + "org/": "", "http://example.org/" + strings.Repeat("a", maxURL): "",

		"http://x.localhost/": "", "http://a.b.internal/": "", "http://home.arpa/": "", "http://x.HOME/": "", "http://nas.lan./": "", "http://x.corp/": "",
		"http://1.2.3/": "", "http://1.2.3.04/": "", "http://1.2.3.0x4/": "", "http://8.8.8.8.8/": "", "http://example.0x/": "", "http://example.7/": "",
		"http://0x8080808/": "", "http://010.8.8.8/": "", "http://8.8.8.256/": "", "http://８.8.8.8/": "", "http://8。8.8.8/": "", "http://[8.8.8.8]/": "",
		"http://[::ffff:8.8.8.8]/": "", "http://[2606:4700:4700:0:0:0:0:1111]/": "", "http://[2606:4700:4700::1111/": "", "http://[2606::1]x/": "",
		"http://[4000::1]/": "", "http://[3fff::1]/": "", "http://[2002:808:808::1]/": "", "http://[v1.x]/": "", "http://[]/": "",
		"http://ｅxample.org/": "", "http://lin\u212aedin.org/": "", "http://\u0130.org/": "", "http://ⓔxample.org/": "",
		"http://аpple.org/": "", "http://xn--pple-43d.org/": "", "http://gооgle.org/": "", "http://ɡoogle.org/": "", "http://exaｍple.org/": "",
		"http://ᚠᚢ.org/": "", "http://aрр1е٣.org/": "", "http://a٣3.org/": "", "http://аωα.org/": "", "http://aーb.org/": "", "http://a·b.org/": "",
		"http://xn--a.org/": "", "http://xn--.org/": "", "http://xn--zzzzzzzz99999.org/": "", "http://☃.org/": "", "http://אa.org/": "",
	} {
		u, err := g.Check(raw)
		if got := ""; err == nil {
			if got = u.String(); want == "" || u.Host == "" || got != want && !strings.Contains(raw, "ä") {
				t.Errorf("%q: %s, want %q", raw, got, want)
			}
		} else if want != "" {
			t.Errorf("%q: %v, want %s", raw, err, want)
		} else if say := jackline.Say(err); !strings.HasSuffix(say, ".") || len(say) > 300 || strings.ContainsAny(say, "\x00\n\u202e\u200b") {
			t.Errorf("%q: the sentence %q", raw, say)
		}
	}
}

func TestPublic(t *testing.T) {
	for a, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "192.88.98.1": true, "172.32.0.1": true, "100.63.255.255": true, "100.128.0.1": true, "223.255.255.255": true,
		"172.31.255.255": false, "100.64.0.0": false, "100.127.255.255": false, "169.254.169.254": false, "192.0.0.9": false, "239.1.1.1": false,
		"2001:200::1": true, "2a00:1450::1": true, "2001:1ff::1": false, "2001:db8::1": false, "fe80::1%eth0": false, "2606::1%1": false,
		"::ffff:8.8.8.8": false, "::8.8.8.8": false, "64:ff9b::808:808": false, "::1": false, "5f00::1": false, "fec0::1": false, "ff0e::1": false,
	} {
		if got := public(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: %v", a, got)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// What the owner opened is reached at exactly that origin; our own sockets never are.
func TestAllow(t *testing.T) {
	g, err := New(Options{
		Allow: []string{"localhost:3000", "127.0.0.1:7717", "127.0.0.1:9000", "[::1]:5000", "DevBox:22", "192.168.1.5:81"},
		Own:   func(a netip.AddrPort) bool { return a.Port() == 7717 },
	})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{
		"http://localhost:3000/a": true, "https://LOCALHOST.:3000/": true, "http://127.0.0.1:9000/": true, "http://[::1]:5000/": true, "http://devbox:22/": true,
		"http://192.168.1.5:81/": true,
		"http://localhost/":      false, "http://localhost:3001/": false, "http://127.0.0.1:3000/": false, "http://127.0.0.1:7717/": false,
		"http://x.localhost:3000/": false, "http://user@localhost:3000/": false, "http://[::1]:9000/": false,
	} {
		if _, err := g.Check(raw); (err == nil) != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, bad := range []string{"localhost", "localhost:0", "localhost:x", ":80", "a b:80", "127.1:80", "http://localhost:3000", "[::1:80", "a:99999", "\x1b:1"} {
		if _, err := New(Options{Allow: []string{bad}}); jackline.KindOf(err) != jackline.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The machine's own resolver knows the names that an owner opens.
func TestSystem(t *testing.T) {
	found, err := system(t.Context(), "localhost")
	if err != nil || len(found) == 0 || !found[0].IsLoopback() {
		t.Errorf("%v %v", found, err)
	}
}

// The hook judges what the kernel is given, whatever was checked before.
func TestControl(t *testing.T) {
	g := strict(t)
	for address, want := range map[string]bool{"8.8.8.8:80": true, "127.0.0.1:80": false, "[::1]:80": false, "10.0.0.1:443": false, "x": false} {
		if err := g.control(false)(t.Context(), "tcp4", address, nil); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := g.control(false)(t.Context(), "udp", "8.8.8.8:80", nil); err == nil {
		t.Error("udp")
	}
}

// The dialler of the program itself, with a look-up that lies after it was judged: the hook is what refuses.
func TestHookOfTheRealDialler(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	d := &net.Dialer{ControlContext: strict(t).control(false)}
	if conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("loopback was dialled")
	} else if jackline.KindOf(err) != jackline.Forbidden {
		t.Errorf("%v", err)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"http://example.org/", "https://bücher.example:8443/x?y#z", "http://[2606:4700::1]/", "http://1.2.3.4/", "http://xn--a/", "http://a@b/"} {
		f.Add(s)
	}
	g := strict(f)
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := g.Check(raw)
		if err != nil {
			if say := jackline.Say(err); say == "" || len(say) > 400 {
				t.Errorf("%q: %q", raw, say)
			}
			return
		}
		host := u.Hostname()
		if a, err := netip.ParseAddr(host); err == nil && !public(a) || u.User != nil || !ascii(host) || strings.ToLower(host) != host || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("%q: %s", raw, u)
		}
		again, err := g.Check(u.String())
		if err != nil && len(u.String()) <= maxURL || err == nil && again.Host != u.Host {
			t.Errorf("%q: %s is not judged as it was: %v", raw, u, err)
		}
	})
}
