// Package audit has the commands about the audit: what was decided and done, whether the record of it is whole, and why a past
// call was allowed or not.
package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/store/chain"
)

// A Program is what these commands need of the program that they belong to.
type Program interface {
	// With runs f with a client of the running server, or of one inside this process.
	With(cmd *cobra.Command, f func(context.Context, *client.Client) error) error

	// Person is whoever is in front of the command, or the lack of one.
	Person() *terminal.Terminal
}

// commands are the commands, with what all of them use.
type commands struct {
	Program
	in   io.Reader
	keys func() (chain.Keys, error)
}

// Command is the command "audit" with all that is under it. keys gives the keys of this machine's audit, for checking an export,
// which is read from a file or from in.
func Command(p Program, in io.Reader, keys func() (chain.Keys, error)) *cobra.Command {
	m := &commands{Program: p, in: in, keys: keys}
	cmd := &cobra.Command{
		Use: "audit", Short: "What was decided and done, and whether the record of it is whole",
		Long: "Every decision about a call leaves a line in the audit: who asked for it, which rule decided, who answered, how it ended; so do changes of\n" +
			"settings, modes, grants and trust, and the kill switch. The lines hold no argument, path, host or title. They are bound to each other\n" +
			"with a key, so that a line that is changed, removed or added afterwards is found.",
	}
	cmd.AddCommand(m.list(), m.show(), m.verify(), m.export())
	return cmd
}

// A filter is which lines a person wants to see.
type filter struct{ session, call, tool, kind, verdict, since, until string }

func (f *filter) flags(cmd *cobra.Command) {
	for _, x := range []struct {
		to          *string
		name, usage string
	}{
		{&f.session, "session", "of one chat"},
		{&f.call, "call", "about one call"},
		{&f.tool, "tool", "about calls of one tool"},
		{&f.kind, "kind", "of one kind, such as call.started or approval.denied"},
		{&f.verdict, "verdict", "with one verdict: allow, ask, deny"},
		{&f.since, "since", "from a moment on: 2026-01-31, 2026-01-31T15:04:05Z, or 2h for two hours ago"},
		{&f.until, "until", "before a moment, in the same forms"},
	} {
		cmd.Flags().StringVar(x.to, x.name, "", x.usage)
	}
}

// query is the filter as the API takes it.
func (f *filter) query() (url.Values, error) {
	q := url.Values{}
	for name, v := range map[string]string{"session": f.session, "call": f.call, "tool": f.tool, "kind": f.kind, "verdict": f.verdict} {
		if v != "" {
			q.Set(name, v)
		}
	}
	for name, v := range map[string]string{"since": f.since, "until": f.until} {
		if v == "" {
			continue
		}
		at, err := moment(v, time.Now())
		if err != nil {
			return nil, terminal.Usage("--%s: %v", name, err)
		}
		q.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
	return q, nil
}

// moment reads a time as a person writes it.
func moment(s string, now time.Time) (time.Time, error) {
	if back, err := time.ParseDuration(s); err == nil && back >= 0 {
		return now.Add(-back), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(form, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-01-31, 2026-01-31T15:04:05Z, or 2h for two hours ago", s)
}

func (m *commands) list() *cobra.Command {
	var f filter
	asJSON, limit := false, 0
	cmd := &cobra.Command{
		Use: "list", Short: "List the newest lines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			if limit < 1 || limit > maxList {
				return terminal.Usage("--limit is 1 to %d; for more: jackline audit export", maxList)
			}
			q.Set("limit", strconv.Itoa(limit))
			return m.With(cmd, func(ctx context.Context, c *client.Client) error {
				lines, err := client.Ask[[]jackline.AuditEntry](ctx, c, http.MethodGet, "/api/audit?"+q.Encode(), nil)
				if err != nil {
					return err
				}
				if !asJSON {
					return m.table(lines)
				}
				for _, e := range lines {
					if err := m.Person().JSON(e); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many")
	return cmd
}

// maxList is the most that one page of the API has.
const maxList = 1000

func (m *commands) table(lines []jackline.AuditEntry) error {
	if len(lines) == 0 {
		fmt.Fprintln(m.Person().Out, "The audit has no such lines.")
		return nil
	}
	w := tabwriter.NewWriter(m.Person().Out, 0, 4, 2, ' ', 0)
	for _, e := range lines {
		about := e.Tool
		if about == "" {
			about = e.What
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.N, e.At.Local().Format("2006-01-02 15:04:05"), terminal.OneLine(string(e.Kind)),
			terminal.OneLine(about), terminal.OneLine(e.Verdict), terminal.OneLine(e.Rule), terminal.OneLine(e.Outcome), terminal.OneLine(string(e.Call)))
	}
	return w.Flush()
}

func (m *commands) show() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "show N", Short: "Show one line", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || n < 1 {
				return terminal.Usage("%q is no number of a line: jackline audit list shows them", args[0])
			}
			return m.With(cmd, func(ctx context.Context, c *client.Client) error {
				e, err := client.Ask[jackline.AuditEntry](ctx, c, http.MethodGet, "/api/audit/"+strconv.FormatInt(n, 10), nil)
				if err != nil {
					return err
				}
				if asJSON {
					return m.Person().JSON(e)
				}
				raw, err := json.MarshalIndent(e, "", "  ")
				if err == nil {
					_, err = fmt.Fprintln(m.Person().Out, terminal.Plain(string(raw)))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one line of JSON")
	return cmd
}

func (m *commands) verify() *cobra.Command {
	asJSON, quick, unkeyed := false, false, false
	cmd := &cobra.Command{
		Use: "verify [FILE]", Short: "Say whether the audit, or an export of it, is as it was written", Args: cobra.MaximumNArgs(1),
		Long: "Looks at every line of the audit and at the sealed head beside it, and names what was changed, removed, added or cut off.\n" +
			"With a file, or - for standard input, it looks at an export; the key of this data folder must be that of the audit.\n\n" +
			"What it cannot find: that the whole data folder was put back as it once was. An export that is kept elsewhere shows that.\n\n" +
			"Exit codes: 0 all is well; 1 something is not, now or when the program once looked.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				r, err := m.verifyFile(args[0], unkeyed)
				if err != nil {
					return err
				}
				return m.report(r, asJSON)
			}
			if unkeyed {
				return terminal.Usage("--without-key is for an export: name its file")
			}
			return m.With(cmd, func(ctx context.Context, c *client.Client) error {
				r, err := client.Ask[jackline.AuditReport](ctx, c, http.MethodGet, "/api/audit/verify?full="+strconv.FormatBool(!quick), nil)
				if err != nil {
					return err
				}
				return m.report(r, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&quick, "quick", false, "look at the last lines and the head only")
	cmd.Flags().BoolVar(&unkeyed, "without-key", false, "look at an export of another machine, whose key is not here")
	return cmd
}

// verifyFile looks at an export.
func (m *commands) verifyFile(name string, unkeyed bool) (jackline.AuditReport, error) {
	var k chain.Keys
	if !unkeyed {
		var err error
		if k, err = m.keys(); err != nil {
			return jackline.AuditReport{}, jackline.E("audit verify", jackline.KindOf(err), err,
				"%s Without the key, --without-key looks whether the lines follow each other, which is all that can be checked then.", jackline.Say(err))
		}
	}
	in := m.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return jackline.AuditReport{}, jackline.E("audit verify", jackline.Invalid, err, "The file %s cannot be read.", name)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	return chain.VerifyExport(in, k)
}

// report prints what was found, and fails where anything is wrong.
func (m *commands) report(r jackline.AuditReport, asJSON bool) error {
	failed := !r.OK || len(r.Noted) > 0
	if asJSON {
		if err := m.Person().JSON(r); err != nil {
			return err
		}
	} else {
		m.print(r)
	}
	if failed {
		return &terminal.Exit{Code: terminal.ExitFailed, Err: nil}
	}
	return nil
}

func (m *commands) print(r jackline.AuditReport) {
	out := m.Person().Out
	switch {
	case r.Checked == 0 && r.OK:
		fmt.Fprintln(out, "There are no lines.")
	case r.OK && !r.Keyed:
		fmt.Fprintf(out, "%d lines, %d to %d: they follow each other.\n", r.Checked, r.First, r.Last)
	case r.OK:
		fmt.Fprintf(out, "%d lines, %d to %d: all are as they were written.\n", r.Checked, r.First, r.Last)
	default:
		fmt.Fprintf(out, "%d lines, %d to %d. NOT all is as it was written:\n", r.Checked, r.First, r.Last)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(out, "  %s: %s\n", terminal.OneLine(string(f.Kind)), terminal.Plain(f.Text))
	}
	if r.More > 0 {
		fmt.Fprintf(out, "  and %d more\n", r.More)
	}
	for _, e := range r.Noted {
		fmt.Fprintf(out, "At %s, line %d notes that something did not fit: %s, at line %d.\n", e.At.Local().Format("2006-01-02 15:04:05"), e.N, terminal.OneLine(e.What), e.In)
	}
	if r.Head > 0 {
		fmt.Fprintf(out, "The head was sealed at %s with line %d; %d lines came since.\n", r.Sealed.Local().Format("2006-01-02 15:04:05"), r.Head, r.Since)
	}
	if !r.Keyed {
		fmt.Fprintln(out, "Without the key it cannot be told whether somebody wrote lines anew: only that they follow each other.")
	}
	if r.Gaps {
		fmt.Fprintln(out, "The export holds chosen lines only, so none can be found missing.")
	}
	if !r.Full && !r.Gaps {
		fmt.Fprintln(out, "Only the last lines were looked at.")
	}
}

func (m *commands) export() *cobra.Command {
	var f filter
	file := ""
	cmd := &cobra.Command{
		Use: "export", Short: "Print the audit as JSON lines, to be kept elsewhere", Args: cobra.NoArgs,
		Long: "Prints the audit as JSON lines, oldest first. jackline audit verify FILE checks them, as long as the key of the data folder is there.\n" +
			"Without a filter it is the whole audit, of which no line can then be missing unnoticed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			return m.With(cmd, func(ctx context.Context, c *client.Client) error {
				if file == "" {
					return c.Download(ctx, "/api/audit/export?"+q.Encode(), m.Person().Out)
				}
				to, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
				if err != nil {
					return jackline.E("audit export", jackline.Conflict, err, "%s cannot be written: choose a file that does not exist, in a folder where this user may write.", file)
				}
				return errors.Join(c.Download(ctx, "/api/audit/export?"+q.Encode(), to), to.Sync(), to.Close())
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file, which must not exist")
	return cmd
}

// Explain is the command "explain", for the commands about permissions.
func Explain(p Program) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "explain CALL", Short: "Say why a past call ran, was asked about or was refused", Args: cobra.ExactArgs(1),
		Long: "Prints what each rule said on a call when it was decided, in that order, and how it was answered. Nothing is judged anew: rules and\n" +
			"settings may be others now. The ids of calls are in the log of a chat, and in jackline audit list.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				raw, err := client.Ask[json.RawMessage](ctx, c, http.MethodGet, "/api/tools/calls/"+url.PathEscape(args[0])+"/explain", nil)
				if err != nil {
					return err
				}
				if asJSON {
					return p.Person().Raw(raw)
				}
				return explain(p.Person().Out, raw)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func explain(out io.Writer, raw json.RawMessage) error {
	var x struct {
		Tool, Title, State, Outcome, By, Reason, Approval string
		Rulings                                           []jackline.Ruling
		Answer                                            *struct {
			State, Scope, By string
			At               time.Time
		}
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return jackline.E("permissions explain", jackline.Internal, err, "The server's answer cannot be read.")
	}
	end := x.Outcome
	if end == "" {
		end = x.State
	}
	fmt.Fprintf(out, "%s: %s (%s)\n", terminal.OneLine(x.Tool), terminal.OneLine(x.Title), terminal.OneLine(end))
	if len(x.Rulings) == 0 {
		fmt.Fprintln(out, "Nothing is known of how it was decided: it did not come so far, or an earlier version ran it.")
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, r := range x.Rulings {
		hard := ""
		if r.Hard {
			hard = "for good: "
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s%s\n", terminal.OneLine(r.Stage), r.Verdict, terminal.OneLine(r.Rule), hard, terminal.OneLine(r.Reason))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if a := x.Answer; a != nil {
		var how []string
		for _, s := range []string{a.State, a.Scope, a.By} {
			if s != "" {
				how = append(how, terminal.OneLine(s))
			}
		}
		fmt.Fprintf(out, "The question %s: %s, at %s\n", terminal.OneLine(x.Approval), strings.Join(how, ", "), a.At.Local().Format("2006-01-02 15:04:05"))
	}
	if x.Reason != "" {
		fmt.Fprintf(out, "Refused by %s: %s\n", terminal.OneLine(x.By), terminal.OneLine(x.Reason))
	}
	return nil
}
