package turn

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// remember keeps the addresses that the owner wrote in words, in the record that delivers these. The words of a sub-agent's turn are a
// model's.
func (r *run) remember(ctx context.Context, words []string, state map[string]json.RawMessage) error {
	if r.t.Depth > 0 {
		return nil
	}
	var all []string
	for _, w := range words {
		all = append(all, addressesIn(w)...)
	}
	if len(all) == 0 {
		return nil
	}
	raw, err := r.state(ctx, tool.SaidKey)
	if err != nil {
		return err
	}
	state[tool.SaidKey] = tool.Remember(raw, all)
	return nil
}

// addressesIn finds the addresses in a person's words, as they stand there: with a scheme, or the name of a host with a dot, which
// then means https as it does to the tool that fetches. What is wrapped around them and the mark that ends a sentence are no part of them.
func addressesIn(text string) []string {
	var all []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("<>\"`|\u00a0", r) }) {
		if k := strings.Index(word, "]("); k >= 0 { // a Markdown link
			word = word[k+2:]
		}
		word = strings.TrimLeft(word, "([{'*_")
		for {
			all = addAddress(all, word)
			short := strings.TrimRight(word, ".,;:!?'*_")
			for _, pair := range []string{"()", "[]", "{}"} {
				if strings.HasSuffix(short, pair[1:]) && strings.Count(short, pair[1:]) > strings.Count(short, pair[:1]) {
					short = short[:len(short)-1]
				}
			}
			if short == word {
				break
			}
			word = short
		}
		if len(all) > tool.MostAddresses {
			break
		}
	}
	return all
}

// addAddress adds a word that is an address.
func addAddress(all []string, word string) []string {
	low := strings.ToLower(word)
	switch {
	case strings.HasPrefix(low, "http://"), strings.HasPrefix(low, "https://"):
		return append(all, word)
	case strings.Contains(word, "://"), strings.HasPrefix(word, "/"), strings.Contains(word, "@"):
		return all
	}
	host, _, _ := strings.Cut(word, "/")
	if dot := strings.LastIndexByte(host, '.'); dot > 0 && dot < len(host)-1 {
		return append(all, "https://"+word)
	}
	return all
}

// came tells where the labels come from that a prompt's own files set.
func (r *run) came(ctx context.Context, had jackline.Labels, what string, state map[string]json.RawMessage) error {
	raw, err := r.state(ctx, tool.ReadKey)
	if err != nil {
		return err
	}
	state[tool.ReadKey] = tool.Trace(raw, had, r.s.Labels, tool.Source{Turn: r.t.ID, What: what})
	return nil
}
