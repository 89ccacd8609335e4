package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/web"
)

// toolRow is a tool as the API lists it.
type toolRow struct {
	Name       string          `json:"name"`
	Title      string          `json:"title"`
	Summary    string          `json:"summary"`
	Parameters json.RawMessage `json:"parameters"`
	Effects    jackline.Effect `json:"effects"`
	Category   string          `json:"category"`
	Available  bool            `json:"available"`
	WhyNot     string          `json:"why_not"`
	Enabled    bool            `json:"enabled"`
}

func (m *Main) toolsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "The tools, and what your model made of them"}
	asJSON := false
	list := &cobra.Command{
		Use: "list", Short: "List the tools", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				rows, err := client.Ask[[]toolRow](ctx, c, http.MethodGet, "/api/tools", nil)
				if err != nil {
					return err
				}
				if asJSON {
					return m.json(rows)
				}
				w := m.table()
				for _, r := range rows {
					state := ""
					if !r.Enabled {
						state = "(disabled)"
					} else if !r.Available {
						state = "(" + terminal.OneLine(r.WhyNot) + ")"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.OneLine(r.Name), r.Effects, terminal.OneLine(r.Summary), state)
				}
				return w.Flush()
			})
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	show := &cobra.Command{
		Use: "show NAME", Short: "Show one tool", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				rows, err := client.Ask[[]toolRow](ctx, c, http.MethodGet, "/api/tools", nil)
				if err != nil {
					return err
				}
				for _, r := range rows {
					if r.Name == args[0] {
						b, _ := json.MarshalIndent(r.Parameters, "", "  ")
						_, err := fmt.Fprintf(m.Out, "%s (%s)\n%s\nEffects: %s\nArguments: %s\n", terminal.Plain(r.Name), terminal.Plain(r.Category), terminal.Plain(r.Summary), r.Effects, terminal.Plain(string(b)))
						return err
					}
				}
				return jackline.E("tools", jackline.NotFound, nil, "There is no tool called %q; see jackline tools list.", args[0])
			})
		},
	}
	var in, session string
	run := &cobra.Command{
		Use: "call NAME", Short: "Run one tool, past the same judge as a model's call", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return m.toolsCall(cmd, args[0], in, session) },
	}
	run.Flags().StringVar(&in, "json", "{}", "the arguments, as a JSON object")
	run.Flags().StringVar(&session, "session", "", "the chat in whose workspace it runs (default: a new one)")
	cmd.AddCommand(list, show, run, m.toolsParseCmd())
	return cmd
}

func (m *Main) toolsCall(cmd *cobra.Command, name, in, session string) error {
	if !json.Valid([]byte(in)) {
		return terminal.Usage("--json must be a JSON object, not %q", in)
	}
	return m.with(cmd, func(ctx context.Context, c *client.Client) error {
		body := map[string]any{"name": name, "args": json.RawMessage(in)}
		if session != "" {
			body["session"] = session
		}
		type result struct {
			Call    jackline.CallID  `json:"call"`
			Outcome jackline.Outcome `json:"outcome"`
			Text    string           `json:"text"`
		}
		r, err := client.Ask[result](ctx, c, http.MethodPost, "/api/tools/run", body)
		var p *client.Problem
		if errors.As(err, &p) && p.Decision == "ask" {
			t := m.terminal()
			if !t.Interactive {
				fmt.Fprintf(m.Err, "jackline: it needs permission: jackline approve yes %s\n", terminal.Plain(string(p.Approval)))
				return &terminal.Exit{Code: terminal.ExitWaiting, Err: nil}
			}
			a, aerr := c.Approval(ctx, p.Approval)
			if aerr != nil {
				return aerr
			}
			t.Lines = terminal.ReadLines(m.In)
			if !t.Settle(ctx, c, a) {
				return &terminal.Exit{Code: terminal.ExitWaiting, Err: nil}
			}
			// What runs is what the person allowed, and only if they did.
			if a, err = c.Approval(ctx, p.Approval); err != nil {
				return err
			}
			if a.State != jackline.Approved {
				fmt.Fprintf(m.Err, "jackline: it was not run: the question is %s.\n", terminal.Plain(string(a.State)))
				return &terminal.Exit{Code: terminal.ExitFailed, Err: nil}
			}
			body["args"], body["approved"], body["approval"] = a.Args, true, p.Approval
			r, err = client.Ask[result](ctx, c, http.MethodPost, "/api/tools/run", body)
		}
		if errors.As(err, &p) && p.Decision == "deny" {
			return &terminal.Exit{Code: terminal.ExitRefused, Err: p}
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(m.Out, terminal.Plain(r.Text))
		if r.Outcome != jackline.OK {
			return &terminal.Exit{Code: terminal.ExitFailed, Err: nil}
		}
		return nil
	})
}

// toolsParseCmd answers "why did my model's call not run?" without running anything.
func (m *Main) toolsParseCmd() *cobra.Command {
	var tools, aliases string
	asJSON := false
	cmd := &cobra.Command{
		Use: "parse", Short: "Read model text and say which calls are in it", Args: cobra.NoArgs,
		Long: "Reads JSONL on standard input, {\"id\",\"tools\",\"text\"} a line, and prints {\"id\",\"calls\",\"visible\",\"thought\",\"error\"}\n" +
			"a line. tools lists what is on offer: a string is a name from --tools, an object is a tool of its own. error is\n" +
			"there if no call could be read though one was tried: \"unreadable\" or \"unknown_tool\". A line may have\n" +
			"\"stream_hint\":\"think\" if the prompt had opened a thought, and instead of text a list \"text_gen\" of strings and\n" +
			"{\"repeat\",\"times\"}.\n" +
			"Without --json standard input is one model answer, read with Jackline's own tools.",
		RunE: func(*cobra.Command, []string) error {
			if !asJSON {
				return m.parseOne()
			}
			return m.parseLines(tools, aliases)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "JSONL in and out")
	cmd.Flags().StringVar(&tools, "tools", "", "file with the catalogue: {name: {description, parameters}}")
	cmd.Flags().StringVar(&aliases, "aliases", "", "file with invented names: {invented: real}")
	return cmd
}

type parsed struct {
	ID      string       `json:"id"`
	Calls   []parsedCall `json:"calls"`
	Visible string       `json:"visible"`
	Thought string       `json:"thought"`
	Error   string       `json:"error,omitempty"`
}

type parsedCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func parsedOf(id string, r dialect.Reading) parsed {
	p := parsed{ID: id, Calls: []parsedCall{}, Visible: r.Visible, Thought: r.Thought, Error: string(r.Error)}
	for _, c := range r.Calls {
		p.Calls = append(p.Calls, parsedCall{Name: c.Name, Args: c.Args})
	}
	return p
}

func (m *Main) parseOne() error {
	b, err := io.ReadAll(io.LimitReader(m.In, maxAnswer+1))
	if err != nil || len(b) > maxAnswer {
		return terminal.Usage("standard input cannot be read, or holds more than %d bytes", maxAnswer)
	}
	// The tools as the loop knows them, with all their names.
	set, err := tool.NewSet(allTools(builtin.Deps{}, web.Deps{})...)
	if err != nil {
		return err
	}
	var known []model.Tool
	for t := range set.All() {
		f := t.Facts()
		known = append(known, model.Tool{Name: f.Name, Summary: f.Summary, Schema: f.Schema, Aliases: f.Aliases})
	}
	p := parsedOf("", dialect.Read(dialect.NewCatalog(known), string(b)))
	for _, call := range p.Calls {
		fmt.Fprintf(m.Out, "call     %s %s\n", terminal.Plain(call.Name), terminal.Plain(string(call.Args)))
	}
	fmt.Fprintf(m.Out, "visible  %s\n", terminal.Plain(p.Visible))
	if p.Thought != "" {
		fmt.Fprintf(m.Out, "thought  %s\n", terminal.Plain(p.Thought))
	}
	if p.Error != "" {
		fmt.Fprintf(m.Out, "error    %s\n", terminal.Plain(p.Error))
	}
	return nil
}

const (
	// maxAnswer bounds one answer: no engine's is as long as that.
	maxAnswer = 16 << 20
	// maxLine bounds a line of JSONL, in which every byte of an answer may be escaped.
	maxLine = 6*maxAnswer + 1<<20
)

// A repeated text is a piece of an answer as text_gen has it: a string, or one many times.
type repeated struct {
	Repeat string `json:"repeat"`
	Times  int    `json:"times"`
}

// UnmarshalJSON takes both forms.
func (r *repeated) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &r.Repeat) == nil {
		r.Times = 1
		return nil
	}
	type plain repeated
	return json.Unmarshal(b, (*plain)(r))
}

// answerOf puts an answer together; ok is false if it is too long.
func answerOf(text string, pieces []repeated) (answer string, ok bool) {
	room := maxAnswer - len(text)
	for _, p := range pieces {
		if p.Times < 0 || p.Times > maxAnswer || len(p.Repeat)*p.Times > room {
			return "", false
		}
		room -= len(p.Repeat) * p.Times
	}
	var b strings.Builder
	b.WriteString(text)
	for _, p := range pieces {
		b.WriteString(strings.Repeat(p.Repeat, p.Times))
	}
	return b.String(), room >= 0
}

func (m *Main) parseLines(toolsFile, aliasFile string) error {
	catalogue := map[string]struct {
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}{}
	aliases := map[string]string{}
	for file, into := range map[string]any{toolsFile: &catalogue, aliasFile: &aliases} {
		if file == "" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return terminal.Usage("%s cannot be read: %v", file, err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			return terminal.Usage("%s is not what is expected: %v", file, err)
		}
	}
	sc := bufio.NewScanner(m.In)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; sc.Scan(); n++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var in struct {
			ID    string            `json:"id"`
			Tools []json.RawMessage `json:"tools"`
			Text  string            `json:"text"`
			Gen   []repeated        `json:"text_gen"`
			Hint  string            `json:"stream_hint"`
		}
		if err := json.Unmarshal(sc.Bytes(), &in); err != nil {
			return terminal.Usage("line %d is not a JSON object with id, tools and text: %v", n, err)
		}
		known := []model.Tool{}
		for _, raw := range in.Tools {
			var name string
			var own struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			}
			if json.Unmarshal(raw, &name) == nil {
				t, ok := catalogue[name]
				if !ok {
					return terminal.Usage("line %d: the catalogue has no tool %q", n, name)
				}
				known = append(known, model.Tool{Name: name, Schema: t.Parameters})
			} else if json.Unmarshal(raw, &own) == nil && own.Name != "" {
				known = append(known, model.Tool{Name: own.Name, Schema: own.Parameters})
			} else {
				return terminal.Usage("line %d: a tool must be a name or an object with name and parameters", n)
			}
		}
		text, ok := answerOf(in.Text, in.Gen)
		if !ok {
			return terminal.Usage("line %d: an answer may hold %d bytes", n, maxAnswer)
		}
		o := dialect.Options{Thinking: in.Hint == "think"}
		if err := m.json(parsedOf(in.ID, o.Read(dialect.NewCatalogWith(known, aliases), text))); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return terminal.Usage("standard input: %v", err)
	}
	return nil
}
