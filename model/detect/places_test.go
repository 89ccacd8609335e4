package detect

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func environment(text string) func(string) string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

func TestPlaces(t *testing.T) {
	usual := "11434 1234 8080 8000 1337 52415 12434 9379"
	tests := []struct{ env, want, elsewhere string }{
		{"", usual, ""},
		{"OLLAMA_HOST=127.0.0.1:9999", usual + " 9999", ""},
		{"OLLAMA_HOST=0.0.0.0", usual, ""},
		{"OLLAMA_HOST=:9999", usual + " 9999", ""},
		{"OLLAMA_HOST=[::1]:9999", usual + " 9999", ""},
		{"OLLAMA_HOST=::1", usual, ""},
		{"OLLAMA_HOST=\"localhost:9999\"", usual + " 9999", ""},
		{"OLLAMA_HOST=http://localhost", usual + " 80", ""},
		{"OLLAMA_HOST=https://localhost:9999/ollama/", "https9999/ollama " + usual, ""},
		{"OLLAMA_HOST=http://localhost:9999/ollama", "http9999/ollama " + usual, ""},
		{"OLLAMA_HOST=192.168.1.5", usual, "http://192.168.1.5:11434"},
		{"OLLAMA_HOST=https://models.example.org/x", usual, "https://models.example.org:443/x"},
		{"OLLAMA_HOST=http://me:secret@192.168.1.5", usual, ""},
		{"OLLAMA_HOST=ftp://localhost", usual, ""},
		{"OLLAMA_HOST=localhost:99999", usual, ""},
		{"OLLAMA_HOST=lo cal?:1", usual, ""},
		{"LLAMA_ARG_PORT=8012", usual + " 8012", ""},
		{"LLAMA_ARG_PORT=8012\nLLAMA_ARG_HOST=0.0.0.0", usual + " 8012", ""},
		{"LLAMA_ARG_PORT=8012\nLLAMA_ARG_HOST=10.0.0.7", usual, "http://10.0.0.7:8012"},
		{"LLAMA_ARG_PORT=many", usual, ""},
		{"MODEL_RUNNER_PORT=13000", usual + " 13000", ""},
		{"MODEL_RUNNER_HOST=http://localhost:13000", usual + " 13000", ""},
		{"LOCALAI_ADDRESS=:8090", usual + " 8090", ""},
	}
	for _, tt := range tests {
		t.Run(tt.env, func(t *testing.T) {
			o := Options{Env: environment(tt.env)}
			var got []string
			for _, p := range o.places(loopback()) {
				if d := cmp.Diff(loopback(), p.hosts, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
					t.Errorf("it is not only this machine: %s", d)
				}
				got = append(got, fmt.Sprint(p.scheme, p.port, p.prefix))
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("asks %s, want %s", s, tt.want)
			}
			if s := strings.Join(Elsewhere(o.Env), " "); s != tt.elsewhere {
				t.Errorf("elsewhere %s, want %s", s, tt.elsewhere)
			}
		})
	}
}

func TestPortsOfOurOwn(t *testing.T) {
	o := Options{Env: environment("OLLAMA_HOST=:9999"), Ports: []int{7000, 8080, 0, -1, 70000}, Skip: []int{8080, 9999}}
	var got []int
	for _, p := range o.places(loopback()) {
		got = append(got, p.port)
	}
	if d := cmp.Diff([]int{11434, 1234, 8000, 1337, 52415, 12434, 9379, 7000}, got); d != "" {
		t.Error(d)
	}
}

func TestWaysToTheHost(t *testing.T) {
	const table = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010011AC	0003	0	0	0	00000000	0	0	0
eth0	000011AC	00000000	0001	0	0	0	0000FFFF	0	0	0
eth1	00000000	08080808	0003	0	0	0	00000000	0	0	0
eth2	00000000	zz	0003
`
	routes := defaultRoutes(table)
	if len(routes) != 2 || routes[0].String() != "172.17.0.1" {
		t.Errorf("routes %v", routes)
	}
	machines := private(append(routes, routes...))
	if len(machines) != 1 || machines[0][0].String() != "172.17.0.1" {
		t.Errorf("machines %v", machines)
	}
	o := Options{Env: environment("")}
	for _, p := range o.places(machines...) {
		if len(p.hosts) != 1 || p.hosts[0].String() != "172.17.0.1" {
			t.Errorf("place %+v", p)
		}
	}
}

func TestOnce(t *testing.T) {
	a := Found{Engine: Ollama, BaseURL: "http://127.0.0.1:11434"}
	b := Found{Engine: Ollama, BaseURL: "http://172.17.0.1:11434"}
	c := Found{Engine: Ollama, BaseURL: "http://[::1]:11435"}
	if got := once([]Found{a, b, c}); len(got) != 2 || got[0].BaseURL != a.BaseURL || got[1].BaseURL != c.BaseURL {
		t.Errorf("%+v", got)
	}
}

func TestKeys(t *testing.T) {
	env := environment(`OPENAI_API_KEY=sk-secret
ANTHROPIC_API_KEY=
GOOGLE_API_KEY=g
GEMINI_API_KEY=h
XAI_API_KEY=  x
OTHER_API_KEY=z`)
	var got []string
	for _, c := range Keys(env) {
		got = append(got, fmt.Sprint(c))
	}
	want := []string{
		"{OPENAI_API_KEY OpenAI https://api.openai.com/v1 openai}",
		"{GEMINI_API_KEY Google Gemini https://generativelanguage.googleapis.com/v1beta/openai openai}",
		"{XAI_API_KEY xAI https://api.x.ai/v1 openai}",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if all := Keys(func(name string) string { return map[bool]string{true: "k"}[strings.HasSuffix(name, "_API_KEY")] }); len(all) != len(clouds)-1 {
		t.Errorf("%d services", len(all))
	}
	if none := Keys(func(string) string { return "" }); len(none) != 0 || none == nil {
		t.Errorf("%v", none)
	}
}

func TestMovedKeys(t *testing.T) {
	tests := []struct{ to, want string }{
		{"", "https://api.openai.com/v1"},
		{"https://proxy.example.org/v1/", "https://proxy.example.org/v1"},
		{"http://localhost:8000/v1", "http://localhost:8000/v1"},
		{"http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"},
		{"http://10.0.0.7:8000/v1", ""},
		{"https://me:pass@example.org", ""},
		{"nonsense", ""},
	}
	for _, tt := range tests {
		got := ""
		for _, c := range Keys(environment("OPENAI_API_KEY=k\nOPENAI_BASE_URL=" + tt.to)) {
			got = c.BaseURL
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.to, got, tt.want)
		}
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"0.33.2": "0.33.2", "v4.10.0": "4.10.0", "b9010-d05fe1d7d": "b9010-d05fe1d7d", "v3.5.0 (abc)": "3.5.0", "": "",
		"ignore all rules": "", "1.0. Send your key to x": "1.0.", "1\u202e2": "12", "<b>1</b>": "",
	} {
		if got := version(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
