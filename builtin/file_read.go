package builtin

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

// longLine is where a line of a file is cut: longer ones are data, not text.
const longLine = 2000

func fileRead(d Deps) tool.Tool {
	type args struct {
		Path string `json:"path"`
		From int    `json:"from,omitempty" doc:"first line"`
		To   int    `json:"to,omitempty" doc:"last line"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "file_read",
		Aliases: []string{
			"read_file", "readfile", "open_file", "view_file", "get_file", "get_file_contents", "read_text_file", "load_file", "show_file",
			"cat", "read", "view", "open", "head", "tail", "file_view", "file_open", "read_lines",
		},
		Group:   "files",
		Summary: "Read a text file; lines come numbered.",
		Use:     "Before you change a file or answer about it.",
		Find:    "open show print contents source code lines text document",
		Effect:  jackline.Read,
		Source:  jackline.Workspace,
		Secret:  true,
		Pin:     tool.PinSmall,
		Cache:   true,
		Icon:    "read",
		Title:   func(a args) string { return "Read " + a.Path },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) { return d.Root.Touch(jackline.Read, a.Path), nil },
		Changed: func(_ context.Context, _ tool.In, a args, stamp string) bool {
			now, err := d.Root.Stat(a.Path)
			return err != nil || now.String() != stamp
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			f, err := d.Root.Read(ctx, a.Path)
			if err != nil {
				return near(ctx, d.Root, a.Path, err)
			}
			out := tool.Out{Origin: "file " + f.Path, Stamp: f.Stamp.String()}
			t, ok := textfile.Decode(f.Data)
			if !ok {
				out.Text = fmt.Sprintf("%s is no text but a binary file of %s.", f.Path, bytesOf(int64(len(f.Data))))
				return out, nil
			}
			out.Text, err = numbered(f.Path, t.Lines(), a.From, a.To, in.AtMost())
			return out, err
		},
	})
}

// numbered gives lines from to to with their numbers, as many as fit, and says where to read on.
func numbered(name string, lines []string, from, to, limit int) (string, error) {
	total := len(lines)
	if from < 0 { // counted from the end, as models sometimes do
		from = max(1, total+from+1)
	}
	from = max(from, 1)
	if to <= 0 || to > total {
		to = total
	}
	switch {
	case total == 0:
		return name + " is empty.", nil
	case from > total:
		return "", jackline.E("builtin.read", jackline.Unprocessed, nil, "The file has only %s.", count(total, "line"))
	case from > to:
		return "", jackline.E("builtin.read", jackline.Unprocessed, nil,
			"The first line, %d, comes after the last, %d.", from, to)
	}
	const room = 120 // characters, for the lines before and after
	width := len(strconv.Itoa(to))
	out := make([]string, 0, to-from+1)
	for n := from; n <= to; n++ {
		out = append(out, fmt.Sprintf("%*d\t%s", width, n, cutLine(textfile.Valid(lines[n-1]))))
	}
	body, taken := fit(out, max(limit-room, limit/2))
	last := from + taken - 1
	head := ""
	if from > 1 || last < total {
		head = fmt.Sprintf("[lines %d-%d of %d]\n", from, last, total)
	}
	if last < to {
		body += fmt.Sprintf("[more: read on with from=%d]\n", last+1)
	}
	return head + strings.TrimSuffix(body, "\n"), nil
}

func cutLine(l string) string {
	if len(l) <= longLine {
		return l
	}
	r := []rune(l)
	if len(r) <= longLine {
		return l
	}
	return fmt.Sprintf("%s… [%d more characters]", string(r[:longLine]), len(r)-longLine)
}

// near adds to an error about a missing file what else is there that may have been meant. Names of files are text of whoever
// made them, and are labelled so.
func near(ctx context.Context, root *workspace.Root, given string, err error) (tool.Out, error) {
	if jackline.KindOf(err) != jackline.NotFound {
		return tool.Out{}, err
	}
	const most = 5
	var same []string
	base := strings.ToLower(path.Base(given))
	_, walkErr := root.Walk(ctx, ".", func(i workspace.Item) error {
		if name := strings.ToLower(path.Base(i.Path)); i.Kind != workspace.KindFolder && len(same) < most && alike(base, name) {
			same = append(same, oneLine(i.Path))
		}
		return nil
	})
	if walkErr != nil || len(same) == 0 {
		return tool.Out{}, jackline.E("builtin.near", jackline.NotFound, err,
			"%s List the folder to see what is there.", jackline.Say(err))
	}
	return tool.Out{
		Text:   fmt.Sprintf("FAILED: %s Did you mean one of: %s?", jackline.Say(err), strings.Join(same, ", ")),
		Failed: true, Origin: "names of files", Label: &tool.Label{Source: jackline.Workspace},
	}, nil
}

// alike reports whether one name may be a slip for another: the same but for separators, or one letter off.
func alike(a, b string) bool {
	plain := strings.NewReplacer("_", "", "-", "", " ", "")
	a, b = plain.Replace(a), plain.Replace(b)
	if a == b {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	const least = 4 // shorter names are alike by chance
	if len(a) < least || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	}
	return a[i:] == b[i+1:]
}
