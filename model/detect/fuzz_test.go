package detect

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/model"
)

// seeds are what engines answer, whole and broken.
var seeds = []string{
	`{"models":[{"name":"a","model":"a:b","size":1,"digest":"d","context_length":4096,"remote_host":"x"}]}`,
	`{"capabilities":["completion","tools"],"model_info":{"general.architecture":"q","q.context_length":40960},"parameters":"num_ctx 8192"}`,
	`{"models":[{"type":"llm","key":"k","size_bytes":1,"max_context_length":8,"loaded_instances":[{"id":"k","config":{"context_length":4}}],"capabilities":{"vision":true,"trained_for_tool_use":false,"reasoning":{"allowed_options":["on"]}}}]}`,
	`{"object":"list","data":[{"id":"m","type":"vlm","state":"loaded","max_context_length":8,"loaded_context_length":4,"capabilities":["tool_use"]}]}`,
	`{"object":"list","data":[{"id":"m","owned_by":"llamacpp","max_model_len":"8192","meta":{"n_ctx":8192.0,"n_ctx_train":1e5,"size":-1},"status":{"value":"loaded"}}]}`,
	`{"default_generation_settings":{"n_ctx":1},"chat_template_caps":{"supports_tools":true},"modalities":{"vision":false},"build_info":"b1","is_sleeping":false}`,
	`{"object":"list","data":[{"id":"m","capabilities":{"a":[{}],"vision":true},"context_size":1,"input_modalities":["text",["x"]]}]}`,
	`[{"id":"t","type":"chat"}]`, `{"data":null,"object":"list"}`, `{"data":[[],{},null,7]}`, `{`, ``, `null`, "{\"models\":[{\"name\":\"\\u202e\\u0000\xff\"}]}",
}

// FuzzAnswers reads anything as each of the answers that engines give. Whatever they say, cards hold names that can be shown and
// numbers that can be true.
func FuzzAnswers(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		root := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
		v := visit{root: root, list: "/v1/models"}
		var cards []model.Card
		if listed, ok := parseList(body); ok {
			cards = append(cards, v.plain(listed).Cards...)
			for _, m := range listed {
				cards = append(cards, model.Card{ID: name(m.ID, m.Name), Usable: m.ContextSize.tokens(), Trained: m.DMR.ContextWindow.tokens()})
			}
		}
		if more, ok := lmStudioCards(body); ok {
			cards = append(cards, more...)
		}
		if more, ok := lmStudioOlder(body); ok {
			cards = append(cards, more...)
		}
		if tags, ok := parseTags(body); ok {
			for _, g := range tags {
				cards = append(cards, model.Card{ID: g.id(), Digest: clean(g.Digest, maxDigest), Bytes: int64(g.Size), Usable: g.Window.tokens()})
			}
		}
		if p, ok := parseProfile(body); ok {
			cards = append(cards, model.Card{ID: "x", Trained: p.trained, Usable: p.window, Tools: p.tools})
		}
		r := answer{status: http.StatusOK, body: body, header: http.Header{}}
		if p, ok := parseProps(r); ok {
			c := model.Card{ID: "x"}
			p.fill(&c)
			cards = append(cards, c)
			checkText(t, version(p.Build), maxShort)
		}
		e := evidence{banner: r, list: r, wellKnown: r}
		if claims := e.claims(); len(claims) > len(families) {
			t.Errorf("claims %v", claims)
		}
		asksForKey(body)
		anthropic(r)
		if len(cards) > 6*maxModels {
			t.Errorf("%d cards", len(cards))
		}
		found := v.blank(OpenAI).settled(cards)
		seen := map[string]bool{}
		for _, c := range found.Cards {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("the name %q is empty or there twice", c.ID)
			}
			seen[c.ID] = true
			checkText(t, c.ID, maxName)
			checkText(t, c.Digest, maxDigest)
			if c.Usable < 0 || c.Usable > maxTokens || c.Trained < 0 || c.Trained > maxTokens || c.Bytes < 0 {
				t.Errorf("%+v", c)
			}
		}
		checkText(t, found.Why, 200)
	})
}

func checkText(t *testing.T, s string, limit int) {
	t.Helper()
	if len(s) > limit || !utf8.ValidString(s) || strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl) || strings.ContainsFunc(s, hidden) {
		t.Errorf("%q cannot be shown", s)
	}
}

// FuzzAddresses reads anything as an address in the environment, and as one that a person typed.
func FuzzAddresses(f *testing.F) {
	for _, s := range []string{"127.0.0.1:1", "http://[::1]:9/x", "localhost", ":80", "https://a.b/v1/chat/completions?x=1", "//", "a@b", "[", "http://%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, ok := parseMention(text, 11434); ok && (m.port < 0 || m.port > 0xffff) {
			t.Errorf("port %d", m.port)
		}
		for _, p := range (Options{Env: func(string) string { return text }}).places(loopback()) {
			for _, h := range p.hosts {
				if !h.IsLoopback() {
					t.Errorf("%v is not this machine", h)
				}
				if u, err := url.Parse(p.url(h).String()); err != nil || hostPort(u) != hostPort(p.url(h)) {
					t.Errorf("%v is no address: %v", p, err)
				}
			}
		}
		u, err := parseBase("test", text)
		if err != nil {
			return
		}
		if u.User != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
			t.Errorf("%v is taken for an address", u)
		}
		if at := paths(u.Path); len(at) == 0 || len(at) > 3 {
			t.Errorf("%v", at)
		}
		movedTo(text)
	})
}
