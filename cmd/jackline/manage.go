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
	"net/url"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/prompted"
)

// with runs f with a client.
func (m *Main) with(cmd *cobra.Command, f func(context.Context, *client) error) error {
	conn, err := m.connect(cmd.Context(), false)
	if err != nil {
		return err
	}
	defer conn.close()
	return f(cmd.Context(), conn.client)
}

func (m *Main) table() *tabwriter.Writer { return tabwriter.NewWriter(m.Out, 0, 4, 2, ' ', 0) }

func (m *Main) stopCmd() *cobra.Command {
	all, lift := false, false
	cmd := &cobra.Command{
		Use: "stop [SESSION]", Short: "Stop a chat's turn, or everything", Args: cobra.MaximumNArgs(1),
		Long: "Stop the running turn of a chat. --all is the kill switch: it stops all turns and keeps anything that could act from running until\n" +
			"a person lifts it with --lift. It holds across restarts.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				switch {
				case all == lift && len(args) == 0, all && lift, (all || lift) && len(args) > 0:
					return usage("name one chat, or --all, or --lift")
				case all, lift:
					body := map[string]any{}
					if lift {
						body["lift"] = true
					}
					r, err := ask[struct {
						Killed  bool              `json:"killed"`
						Stopped []jackline.TurnID `json:"stopped"`
					}](ctx, c, http.MethodPost, "/api/stop", body)
					if err != nil {
						return err
					}
					if r.Killed {
						fmt.Fprintf(m.Out, "Stopped %d turns. Nothing that could act will run until: jackline stop --lift\n", len(r.Stopped))
					} else {
						fmt.Fprintln(m.Out, "Lifted.")
					}
					return nil
				}
				return c.stop(ctx, jackline.SessionID(args[0]))
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "throw the kill switch")
	cmd.Flags().BoolVar(&lift, "lift", false, "lift the kill switch")
	return cmd
}

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
			return m.with(cmd, func(ctx context.Context, c *client) error {
				rows, err := ask[[]toolRow](ctx, c, http.MethodGet, "/api/tools", nil)
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
						state = "(" + r.WhyNot + ")"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, r.Effects, r.Summary, state)
				}
				return w.Flush()
			})
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	show := &cobra.Command{
		Use: "show NAME", Short: "Show one tool", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				rows, err := ask[[]toolRow](ctx, c, http.MethodGet, "/api/tools", nil)
				if err != nil {
					return err
				}
				for _, r := range rows {
					if r.Name == args[0] {
						b, _ := json.MarshalIndent(r.Parameters, "", "  ")
						_, err := fmt.Fprintf(m.Out, "%s (%s)\n%s\nEffects: %s\nArguments: %s\n", r.Name, r.Category, r.Summary, r.Effects, b)
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
		return usage("--json must be a JSON object, not %q", in)
	}
	return m.with(cmd, func(ctx context.Context, c *client) error {
		body := map[string]any{"name": name, "args": json.RawMessage(in)}
		if session != "" {
			body["session"] = session
		}
		type result struct {
			Call    jackline.CallID  `json:"call"`
			Outcome jackline.Outcome `json:"outcome"`
			Text    string           `json:"text"`
		}
		r, err := ask[result](ctx, c, http.MethodPost, "/api/tools/run", body)
		var p *problem
		if errors.As(err, &p) && p.Decision == "ask" {
			t := m.terminal()
			if !t.interactive {
				fmt.Fprintf(m.Err, "jackline: it needs permission: jackline approve yes %s\n", p.Approval)
				return &exit{exitWaiting, nil}
			}
			a, aerr := c.approval(ctx, p.Approval)
			if aerr != nil {
				return aerr
			}
			k := &card{row: a}
			k.print(t)
			lines := readLines(m.In)
			for done := false; !done; {
				line, ok := <-lines
				if !ok {
					return &exit{exitWaiting, nil}
				}
				if done, err = k.read(ctx, t, c, line); err != nil {
					fmt.Fprintln(m.Err, sayOf(err))
				}
			}
			body["approved"], body["approval"] = true, p.Approval
			r, err = ask[result](ctx, c, http.MethodPost, "/api/tools/run", body)
		}
		if errors.As(err, &p) && p.Decision == "deny" {
			return &exit{exitRefused, p}
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(m.Out, plain(r.Text))
		if r.Outcome != jackline.OK {
			return &exit{exitFailed, nil}
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
			"a line. tools lists what is on offer: a string is a name from --tools, an object is a tool of its own.\n" +
			"Without --json standard input is one model answer, read with Jackline's own tools.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				return m.parseOne(cmd)
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

func parsedOf(id string, r prompted.Reading) parsed {
	p := parsed{ID: id, Calls: []parsedCall{}, Visible: r.Visible, Thought: r.Thought, Error: string(r.Error)}
	for _, c := range r.Calls {
		p.Calls = append(p.Calls, parsedCall{Name: c.Name, Args: c.Args})
	}
	return p
}

func (m *Main) parseOne(cmd *cobra.Command) error {
	b, err := io.ReadAll(io.LimitReader(m.In, maxStdin+1))
	if err != nil || len(b) > maxStdin {
		return usage("standard input cannot be read, or holds more than %d bytes", maxStdin)
	}
	return m.with(cmd, func(ctx context.Context, c *client) error {
		rows, err := ask[[]toolRow](ctx, c, http.MethodGet, "/api/tools", nil)
		if err != nil {
			return err
		}
		var known []model.Tool
		for _, r := range rows {
			known = append(known, model.Tool{Name: r.Name, Summary: r.Summary, Schema: r.Parameters})
		}
		p := parsedOf("", prompted.Read(prompted.NewCatalog(known), string(b)))
		for _, call := range p.Calls {
			fmt.Fprintf(m.Out, "call     %s %s\n", call.Name, call.Args)
		}
		fmt.Fprintf(m.Out, "visible  %s\n", p.Visible)
		if p.Thought != "" {
			fmt.Fprintf(m.Out, "thought  %s\n", p.Thought)
		}
		if p.Error != "" {
			fmt.Fprintf(m.Out, "error    %s\n", p.Error)
		}
		return nil
	})
}

// maxLine bounds a line of JSONL: the largest model answers are some megabytes.
const maxLine = 64 << 20

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
			return usage("%s cannot be read: %v", file, err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			return usage("%s is not what is expected: %v", file, err)
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
		}
		if err := json.Unmarshal(sc.Bytes(), &in); err != nil {
			return usage("line %d is not a JSON object with id, tools and text: %v", n, err)
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
					return usage("line %d: the catalogue has no tool %q", n, name)
				}
				known = append(known, model.Tool{Name: name, Schema: t.Parameters})
			} else if json.Unmarshal(raw, &own) == nil && own.Name != "" {
				known = append(known, model.Tool{Name: own.Name, Schema: own.Parameters})
			} else {
				return usage("line %d: a tool must be a name or an object with name and parameters", n)
			}
		}
		if err := m.json(parsedOf(in.ID, prompted.Read(prompted.NewCatalogWith(known, aliases), in.Text))); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return usage("standard input: %v", err)
	}
	return nil
}

func (m *Main) permissionsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "permissions", Short: "What may be done, and what would happen if"}
	asJSON := false
	show := &cobra.Command{
		Use: "show", Short: "Show mode, switches, rules and live grants", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				raw, err := ask[json.RawMessage](ctx, c, http.MethodGet, "/api/permissions", nil)
				if err != nil {
					return err
				}
				var pretty bytes.Buffer
				if err := json.Indent(&pretty, raw, "", "  "); err != nil {
					return err
				}
				_, err = fmt.Fprintln(m.Out, pretty.String())
				return err
			})
		},
	}
	test := &cobra.Command{
		Use: "test [COMMAND]", Short: "Say what would happen, without running anything", Args: cobra.MaximumNArgs(1),
		Long: "Judges a shell command, or with --json JSONL lines {\"id\",\"kind\":\"shell|path|url|call\", …} from standard input, and prints\n" +
			"{\"id\",\"decision\",\"verdict\",\"rule\",\"touches\"}. Nothing is run.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error { return m.permissionsTest(ctx, c, args, asJSON) })
		},
	}
	test.Flags().BoolVar(&asJSON, "json", false, "JSONL in and out")
	cmd.AddCommand(show, test)
	return cmd
}

func (m *Main) permissionsTest(ctx context.Context, c *client, args []string, asJSON bool) error {
	judge := func(line []byte) error {
		raw, err := ask[json.RawMessage](ctx, c, http.MethodPost, "/api/permissions/test", json.RawMessage(line))
		if err != nil {
			return err
		}
		if asJSON {
			_, err = fmt.Fprintf(m.Out, "%s\n", bytes.TrimSpace(raw))
			return err
		}
		var j struct{ Decision, Verdict, Rule, Reason string }
		if err := json.Unmarshal(raw, &j); err != nil {
			return err
		}
		_, err = fmt.Fprintf(m.Out, "%s (%s) %s\n", j.Decision, j.Rule, j.Reason)
		return err
	}
	if !asJSON {
		if len(args) != 1 {
			return usage(`name a command: jackline permissions test "git push"`)
		}
		line, err := json.Marshal(map[string]string{"id": "1", "kind": "shell", "shell": "sh", "command": args[0]})
		if err != nil {
			return err
		}
		return judge(line)
	}
	sc := bufio.NewScanner(m.In)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return usage("line %d is not JSON", n)
		}
		if err := judge(line); err != nil {
			return err
		}
	}
	return sc.Err()
}

func (m *Main) sessionsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "The chats"}
	asJSON, limit := false, 20
	list := func(search string) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				search = strings.Join(args, " ")
			}
			return m.with(cmd, func(ctx context.Context, c *client) error {
				rows, err := c.sessions(ctx, search, "", limit)
				if err != nil {
					return err
				}
				if asJSON {
					return m.json(rows)
				}
				w := m.table()
				for _, r := range rows {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Updated.Local().Format("2006-01-02 15:04"), r.Status, plain(r.Title), plain(r.Workspace))
				}
				return w.Flush()
			})
		}
	}
	ls := &cobra.Command{Use: "list", Short: "List the newest chats", Args: cobra.NoArgs, RunE: list("")}
	search := &cobra.Command{Use: "search WORDS", Short: "Search titles, prompts and answers", Args: cobra.MinimumNArgs(1), RunE: list("")}
	for _, l := range []*cobra.Command{ls, search} {
		l.Flags().BoolVar(&asJSON, "json", false, "as JSON")
		l.Flags().IntVar(&limit, "limit", 20, "how many")
	}
	show := &cobra.Command{
		Use: "show SESSION", Short: "Show the turns of a chat", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				turns, err := c.turns(ctx, jackline.SessionID(args[0]))
				if err != nil {
					return err
				}
				for _, t := range turns {
					fmt.Fprintf(m.Out, "%s  %s  %s\n> %s\n%s\n\n", t.Created.Local().Format("2006-01-02 15:04"), t.ID, t.Status, plain(t.Prompt), plain(t.Answer))
				}
				return nil
			})
		},
	}
	export := &cobra.Command{
		Use: "export SESSION", Short: "Print a chat with all its events as JSON", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				raw, err := ask[json.RawMessage](ctx, c, http.MethodGet, sessionPath(jackline.SessionID(args[0]))+"/export", nil)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(m.Out, "%s\n", bytes.TrimSpace(raw))
				return err
			})
		},
	}
	var upTo string
	fork := &cobra.Command{
		Use: "fork SESSION", Short: "Copy a chat, to go on another way", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				body := map[string]any{}
				if upTo != "" {
					body["turn"] = upTo
				}
				s, err := ask[jackline.Session](ctx, c, http.MethodPost, sessionPath(jackline.SessionID(args[0]))+"/fork", body)
				if err == nil {
					fmt.Fprintln(m.Out, s.ID)
				}
				return err
			})
		},
	}
	fork.Flags().StringVar(&upTo, "turn", "", "the last turn to copy (default: all)")
	del := &cobra.Command{
		Use: "delete SESSION", Short: "Delete a chat for good", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				return c.call(ctx, http.MethodDelete, sessionPath(jackline.SessionID(args[0])), nil, nil)
			})
		},
	}
	cmd.AddCommand(ls, search, show, export, fork, del)
	return cmd
}

func (m *Main) approveCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "approve", Short: "Answer what waits for a person"}
	asJSON := false
	list := &cobra.Command{
		Use: "list", Short: "List what waits", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				rows, err := ask[[]jackline.Approval](ctx, c, http.MethodGet, "/api/tools/approvals", nil)
				if err != nil {
					return err
				}
				if asJSON {
					return m.json(rows)
				}
				w := m.table()
				for _, a := range rows {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.ID, a.Kind, a.Risk, plain(a.Title), plain(a.Folder))
				}
				return w.Flush()
			})
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	show := &cobra.Command{
		Use: "show ID", Short: "Show the whole card", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client) error {
				a, err := c.approval(ctx, jackline.ApprovalID(args[0]))
				if err != nil {
					return err
				}
				t := m.terminal()
				t.err = m.Out
				(&card{row: a}).print(t)
				fmt.Fprintln(m.Out)
				return nil
			})
		},
	}
	scope, why := "once", ""
	yes := &cobra.Command{
		Use: "yes ID", Short: "Allow", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.settle(cmd, args[0], map[string]any{"approved": true, "scope": scope})
		},
	}
	yes.Flags().StringVar(&scope, "for", "once", "how far it reaches: once, task, chat")
	no := &cobra.Command{
		Use: "no ID", Short: "Deny", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"approved": false}
			if why != "" {
				body["reason"] = why
			}
			return m.settle(cmd, args[0], body)
		},
	}
	no.Flags().StringVar(&why, "why", "", "what the model is told")
	answer := &cobra.Command{
		Use: "answer ID ANSWER…", Short: "Answer a question, one argument for each", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var all [][]string
			for _, a := range args[1:] {
				all = append(all, []string{a})
			}
			return m.settle(cmd, args[0], map[string]any{"answers": all})
		},
	}
	cmd.AddCommand(list, show, yes, no, answer)
	return cmd
}

// settle answers a row. Where no server runs, the turn that waited for it goes on here, to its end or its next question.
func (m *Main) settle(cmd *cobra.Command, id string, body map[string]any) error {
	conn, err := m.connect(cmd.Context(), false)
	if err != nil {
		return err
	}
	defer conn.close()
	ctx, c := cmd.Context(), conn.client
	a, err := c.approval(ctx, jackline.ApprovalID(id))
	if err != nil {
		return err
	}
	var after int64
	follow := conn.own && a.Turn != ""
	if follow {
		if after, err = c.lastEvent(ctx, a.Session); err != nil {
			return err
		}
	}
	if _, err := c.answer(ctx, a.ID, body); err != nil || !follow {
		return err
	}
	t := m.terminal()
	t.interactive = false
	w, err := t.follow(ctx, c, a.Session, a.Turn, after, nil, nil)
	if err != nil {
		return err
	}
	return m.report(ctx, c, runOptions{output: "text"}, t, a.Session, a.Turn, w, false)
}

func (m *Main) configCmd() *cobra.Command {
	var b strings.Builder
	b.WriteString("Show the settings as they stand, and where each comes from. A flag wins over the environment, that over what page and API stored, that over\nthe file, that over the default.\n\n")
	for _, k := range keys() {
		fmt.Fprintf(&b, "  %s (%s", k.path, k.name())
		if k.env != "" {
			b.WriteString(", " + k.env)
		}
		fmt.Fprintf(&b, ")\n      %s\n", k.doc)
	}
	asJSON := false
	cmd := &cobra.Command{
		Use: "config", Short: "Show the settings and where each comes from", Long: b.String(), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := loadConfig(m.Env, m.flags)
			if err != nil {
				return err
			}
			m.warn(conf)
			if asJSON {
				all := map[string]any{}
				for _, k := range keys() {
					all[k.path] = conf.get(k.path)
				}
				return m.json(all)
			}
			fmt.Fprintf(m.Out, "file       %s\ndata       %s\nlogs       %s\nworkspace  %s\n\n", conf.places.file, conf.places.data, conf.places.logs, conf.places.workspace)
			w := m.table()
			for _, k := range keys() {
				from := conf.from[k.path]
				if from == "" {
					from = "default"
				}
				fmt.Fprintf(w, "%s\t%v\t%s\n", k.path, conf.get(k.path), from)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// warn prints what was odd about the settings.
func (m *Main) warn(c *config) {
	for _, w := range c.warnings {
		fmt.Fprintln(m.Err, "jackline: "+w)
	}
}

func (m *Main) attachCmd() *cobra.Command {
	var token, session string
	cmd := &cobra.Command{
		Use: "attach URL", Short: "Watch and answer on a running server", Args: cobra.ExactArgs(1),
		Long: "Watch the newest chat (or --session) of a server, and answer its cards. The token is the one in the file `token` of its data folder; give it with\n--token-env.",
		RunE: func(cmd *cobra.Command, args []string) error { return m.attach(cmd.Context(), args[0], token, session) },
	}
	cmd.Flags().StringVar(&token, "token-env", "JACKLINE_TOKEN", "name of the environment variable that holds the server's token")
	cmd.Flags().StringVar(&session, "session", "", "the chat (default: the newest)")
	return cmd
}

func (m *Main) attach(ctx context.Context, address, tokenEnv, session string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usage("%q is no address like http://127.0.0.1:7717", address)
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	c := &client{base: u.Scheme + "://" + u.Host, token: m.Env(tokenEnv), http: plainHTTP()}
	if c.token == "" {
		conf, err := loadConfig(m.Env, m.flags)
		if err != nil {
			return err
		}
		// This machine's token goes to this machine's server and nowhere else.
		own := running(ctx, conf.places.data)
		if own == nil || own.base != c.base {
			return usage("%s is not set; it must hold the token of the server at %s", tokenEnv, c.base)
		}
		c = own
	}
	rows, err := c.sessions(ctx, "", "", 1)
	if err != nil {
		return err
	}
	id := jackline.SessionID(session)
	if id == "" {
		if len(rows) == 0 {
			return jackline.E("attach", jackline.NotFound, nil, "That server has no chat yet.")
		}
		id = rows[0].ID
	}
	t := m.terminal()
	t.stream, t.quiet = true, false
	if t.interactive {
		t.lines = readLines(m.In)
	}
	stopWatch := m.onSignal(func(os.Signal) { leave(&exit{exitInterrupted, nil}) })
	defer stopWatch()
	var after int64
	for {
		turns, err := c.turns(ctx, id)
		if err != nil {
			return err
		}
		open := jackline.TurnID("")
		for _, tn := range turns {
			if !tn.Status.Over() {
				open = tn.ID
				break
			}
		}
		if open == "" {
			if len(turns) > 0 {
				fmt.Fprintln(m.Out, plain(turns[len(turns)-1].Answer))
			}
			return nil
		}
		w, err := t.follow(ctx, c, id, open, after, nil, nil)
		if err != nil {
			return err
		}
		fmt.Fprintln(m.Out)
		if w.end == nil {
			return &exit{exitWaiting, nil}
		}
		after = w.after
	}
}
