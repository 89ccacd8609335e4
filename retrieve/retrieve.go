// Package retrieve finds which of many short documents answer a few words: which tools a prompt points at.
//
// It ranks by words alone, with the usual weights (BM25, as in Robertson and Zaragoza, "The Probabilistic Relevance Framework",
// 2009): rare words count more, repeated ones less and less, and long documents are not favoured. No model is asked and
// nothing is random, so that the same words over the same documents always give the same answer, in the same order.
package retrieve

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"
	"sync"
)

// A Doc is one document. What it is called counts for more than what is said about it.
type Doc struct {
	Name    string   // its name, which a model half remembers
	Aliases []string // what else it is called
	Server  string   // whose it is
	Params  []string // the names of what it takes
	Text    string   // what it does
}

// Limits. What is beyond them is not found; nothing fails.
const (
	// MaxDocs bounds an index: some dozens of servers with some dozens of tools each.
	MaxDocs = 5000
	// docWords bounds the words of one document: a server that describes a tool in a novel must not win by it.
	docWords = 250
	// QueryWords is how many different words of what is asked count.
	QueryWords = 100
)

// How often a word of each part counts.
const (
	nameWeight   = 3
	serverWeight = 2
	partWeight   = 1
	// mostWeight is what one word counts in one document at most: a server that repeats itself wins nothing by it.
	mostWeight = 4
)

// An Index is documents, ready to be searched. It never changes, and is safe for several goroutines at once.
type Index struct {
	words map[string][]posting
	named map[string]int // word → documents that are called by it
	long  []float64      // words of each document
	mean  float64
}

// A posting is one document that has a word, and how much.
type posting struct {
	doc    int
	count  float64
	named  bool // it is called by the word
	server bool // and so is whose it is
}

// New makes an index of documents.
func New(docs []Doc) *Index {
	docs = docs[:min(len(docs), MaxDocs)]
	x := &Index{words: map[string][]posting{}, named: map[string]int{}, long: make([]float64, len(docs))}
	total := 0.0
	for i, d := range docs {
		room := docWords
		add := func(text string, weight float64) (last []*posting) {
			words := Words(text, room)
			room -= len(words)
			x.long[i] += float64(len(words))
			for _, w := range words {
				all := x.words[w]
				if n := len(all); n == 0 || all[n-1].doc != i {
					all = append(all, posting{doc: i})
				}
				p := &all[len(all)-1]
				p.count = min(p.count+weight, mostWeight)
				x.words[w] = all
				last = append(last, p)
			}
			return last
		}
		call := func(text string, weight float64) []*posting {
			all := add(text, weight)
			for _, p := range all {
				p.named = true
			}
			return all
		}
		for _, p := range call(d.Server, serverWeight) {
			p.server = true
		}
		call(d.Name, nameWeight)
		for _, alias := range d.Aliases {
			// One word of several names nothing.
			if len(Words(alias, 2)) == 1 {
				call(alias, partWeight)
			} else {
				add(alias, partWeight)
			}
		}
		for _, p := range d.Params {
			add(p, partWeight)
		}
		add(d.Text, partWeight)
		total += x.long[i]
	}
	for w, all := range x.words {
		for _, p := range all {
			if p.named {
				x.named[w]++
			}
		}
	}
	if len(docs) > 0 {
		x.mean = total / float64(len(docs))
	}
	return x
}

// A Hit is a document that answers.
type Hit struct {
	At     int // which of the documents
	Score  float64
	Words  int  // how many different words of the query it has
	Named  int  // how many of them are in its name or its server's, or are an alias
	Rare   int  // how many of those name hardly another document
	Server bool // its server is named
}

// rare is how many documents a word may name so that it still tells which one is meant.
const rare = 3

// Search gives the documents that share words with a query, as [Words] takes it apart, the best first and equals in the order of the
// documents.
func (x *Index) Search(query []string) []Hit {
	const k1, b = 1.2, 0.75 // the customary values
	query = slices.Compact(slices.Sorted(slices.Values(query)))
	query = query[:min(len(query), QueryWords)]
	hits := map[int]*Hit{}
	n := float64(len(x.long))
	for _, w := range query {
		found := x.words[w]
		idf := math.Log(1 + (n-float64(len(found))+0.5)/(float64(len(found))+0.5))
		for _, p := range found {
			h := hits[p.doc]
			if h == nil {
				h = &Hit{At: p.doc}
				hits[p.doc] = h
			}
			h.Score += idf * p.count * (k1 + 1) / (p.count + k1*(1-b+b*x.long[p.doc]/x.mean))
			h.Words++
			if p.named {
				h.Named++
				if x.named[w] <= rare {
					h.Rare++
				}
			}
			h.Server = h.Server || p.server
		}
	}
	all := make([]Hit, 0, len(hits))
	for _, h := range hits {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(x, y Hit) int { return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.At, y.At)) })
	return all
}

// A Key stands for what an index was made of.
type Key [sha256.Size]byte

// KeyOf is the key of an index over documents, of which some are disabled, by name.
func KeyOf(docs []Doc, disabled []string) Key {
	h := sha256.New()
	for _, d := range docs {
		put(h, d.Name, d.Server, d.Text)
		put(h, d.Aliases...)
		put(h, d.Params...)
	}
	off := slices.Sorted(slices.Values(disabled))
	put(h, off...)
	return Key(h.Sum(nil))
}

// put writes strings so that no two lists look the same.
func put(h hash.Hash, list ...string) {
	var n [8]byte
	write := func(length int) {
		binary.LittleEndian.PutUint64(n[:], uint64(length)) //nolint:gosec // a length is never negative
		_, _ = h.Write(n[:])                                // it never fails
	}
	write(len(list))
	for _, s := range list {
		write(len(s))
		_, _ = h.Write([]byte(s))
	}
}

// A Cache keeps the latest indexes. The zero value is empty and ready, and safe for several goroutines at once.
type Cache struct {
	mu   sync.Mutex
	kept []cached // newest first
}

type cached struct {
	key   Key
	index *Index
}

// keptIndexes is how many are kept: one for each set of tools that is in use, with room.
const keptIndexes = 8

// Index is the index that is kept under a key, made by docs where there is none.
func (c *Cache) Index(k Key, docs func() []Doc) *Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.kept, func(x cached) bool { return x.key == k })
	x := cached{key: k}
	if at >= 0 {
		x = c.kept[at]
		c.kept = slices.Delete(c.kept, at, at+1)
	} else {
		x.index = New(docs())
	}
	c.kept = slices.Insert(c.kept[:min(len(c.kept), keptIndexes-1)], 0, x)
	return x.index
}
