package retrieve_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/retrieve"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"file_read":                         "fil read",
		"createIssue":                       "creat issu createissu",
		"GitHub":                            "git hub github",
		"parseHTTPServer2Name":              "pars http server2 nam parsehttpserver2nam",
		"mcp__github__list-pull.requests":   "mcp github list pull request",
		"ABC":                               "abc",
		"Größe der Straße, é à l'École":     "gross strass e l ecol",
		"the tools that are used":           "tool used",
		"copies copied copying copy":        "copy copi copy copy",
		"ＡＢＣ ｆｕｌｌ":                          "abc full",
		"文件搜索":                              "文件 件搜 搜索",
		"搜 files":                           "fil",
		"ファイルを read":                        "ファ ァイ イル ルを read",
		"":                                  "",
		"\xff\xfe":                          "",
		"x1 12 v2":                          "x1 12 v2",
		"don't":                             "don t",
		strings.Repeat("long", 40) + " end": strings.Repeat("long", 12) + " end",
	} {
		if got := strings.Join(retrieve.Words(text, 100), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := retrieve.Words("one two three four five", 2); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func words(s string) []string { return retrieve.Words(s, retrieve.QueryWords) }

func docs() []retrieve.Doc {
	return []retrieve.Doc{
		{Name: "file_copy", Aliases: []string{"cp"}, Params: []string{"from", "to"}, Text: "Copy a file."},
		{Name: "file_move", Aliases: []string{"mv", "rename"}, Params: []string{"from", "to"}, Text: "Move or rename a file."},
		{Name: "mcp__github__create_issue", Server: "github", Params: []string{"repo", "title"}, Text: "Open a new issue in a repository."},
		{Name: "mcp__jira__create_issue", Server: "jira", Params: []string{"project", "title"}, Text: "Open a new issue in a project."},
		{Name: "weather", Text: "The weather at a place, now and in the next days."},
	}
}

func TestSearch(t *testing.T) {
	x := retrieve.New(docs())
	for query, want := range map[string][]int{
		"copy notes.txt to b.txt":              {0},
		"please rename it":                     {1},
		"open an issue on github":              {2, 3},
		"open an issue in Jira about the file": {3, 2, 0, 1},
		"hello":                                nil,
		"":                                     nil,
		"repository":                           {2},
		"Météo":                                nil,
		"WEATHER?":                             {4},
		"which project":                        {3},
	} {
		var got []int
		for _, h := range x.Search(words(query)) {
			got = append(got, h.At)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
	hits := x.Search(words("open a github issue"))
	if len(hits) != 2 || hits[0].At != 2 || hits[0].Named != 2 || hits[0].Words != 3 || hits[0].Rare != 2 || !hits[0].Server || hits[1].Named != 1 || hits[1].Server {
		t.Errorf("%+v", hits)
	}
	if hits := retrieve.New(nil).Search(words("anything")); len(hits) != 0 {
		t.Error(hits)
	}
}

// A document that repeats words without end wins nothing by it and costs no more than its bound.
func TestBounded(t *testing.T) {
	loud := retrieve.Doc{Name: "loud", Text: strings.Repeat("copy file move ", 100_000)}
	hits := retrieve.New(append(docs(), loud)).Search(words("copy file"))
	if hits[0].At != 0 {
		t.Errorf("%+v", hits)
	}
	many := make([]retrieve.Doc, retrieve.MaxDocs+10)
	for i := range many {
		many[i].Name = "same"
	}
	hits = retrieve.New(many).Search(words("same"))
	if len(hits) != retrieve.MaxDocs || !slices.IsSortedFunc(hits, func(a, b retrieve.Hit) int { return a.At - b.At }) {
		t.Errorf("%d hits", len(hits))
	}
}

// The same words give the same answer, however often and over whatever order of words.
func TestStable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var many []retrieve.Doc
	for i := range 300 {
		many = append(many, retrieve.Doc{Name: fmt.Sprintf("tool_%d", i%40), Text: fmt.Sprintf("does %d and %d", i%7, i%11)})
	}
	want := retrieve.New(many).Search(words("tool 3 does 5 and 6"))
	for range 20 {
		shuffled := []string{"tool", "3", "does", "5", "and", "6"}
		rnd.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := retrieve.New(many).Search(words(strings.Join(shuffled, " "))); !slices.Equal(got, want) {
			t.Fatal("another order")
		}
	}
}

// An index is made again when, and only when, what it is made of changes.
func TestCache(t *testing.T) {
	var c retrieve.Cache
	made := 0
	get := func(d []retrieve.Doc, off ...string) *retrieve.Index {
		return c.Index(retrieve.KeyOf(d, off), func() []retrieve.Doc { made++; return d })
	}
	first := get(docs())
	if get(docs(), []string{}...) != first || made != 1 {
		t.Error("made again")
	}
	if get(docs(), "a", "b") != get(docs(), "b", "a") || made != 2 {
		t.Error("the order of what is disabled counts")
	}
	changed := docs()
	changed[0].Text = "Copies."
	get(changed)
	changed = docs()
	changed[0].Aliases, changed[0].Params = []string{"cp", "from"}, []string{"to"}
	get(changed)
	if made != 4 {
		t.Errorf("made %d times", made)
	}
	for i := range 20 {
		get(docs(), fmt.Sprint("off", i))
	}
	if get(docs()); made != 25 {
		t.Errorf("made %d times", made)
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"file_read createIssue", "文件 search", "ÄÖÜ", "a\xffb", "AAAAb", "ǅ", "1A1a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := retrieve.Words(s, 50)
		if len(got) > 50 {
			t.Fatalf("%d words", len(got))
		}
		for _, w := range got {
			if !utf8.ValidString(w) || len(w) > 64 {
				t.Fatalf("%q", w)
			}
		}
		retrieve.New([]retrieve.Doc{{Name: s, Text: s}}).Search(words(s))
	})
}

func BenchmarkSearch(b *testing.B) {
	var many []retrieve.Doc
	for i := range 300 {
		many = append(many, retrieve.Doc{Name: fmt.Sprintf("mcp__server%d__do_thing_%d", i%12, i), Text: "Does a thing to another thing, for example number " + fmt.Sprint(i)})
	}
	x := retrieve.New(many)
	for b.Loop() {
		x.Search(words("do the thing number 17 on server3 and then look at the next one"))
	}
}
