package turn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
)

func TestRetryNote(t *testing.T) {
	names := []string{"file_read", "file_write", "shell", "web_search", "web_fetch", "weather", "time_now"}
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf("tool_of_some_server_%d", i)
	}
	tests := []struct {
		why   model.Garbled
		asked string
		cut   bool
		names []string
		want  string
	}{
		{model.Unreadable, "", true, names, "Your tool call was cut off before it was whole, and was not run. Send it again, shorter."},
		{model.UnknownTool, "search_the_web", false, names, `There is no tool "search_the_web". Did you mean web_search? The tools are: web_search, file_read, file_write, shell, web_fetch, weather, time_now.`},
		{model.UnknownTool, "write_files", false, names, `There is no tool "write_files". Did you mean file_write? The tools are: file_write, `},
		{model.UnknownTool, "fly", false, names, `There is no tool "fly". The tools are: file_read, file_write, shell, web_search, web_fetch, weather, time_now.`},
		{model.UnknownTool, "", false, names, "That tool does not exist. The tools are: file_read, "},
		{model.UnknownTool, "a\u202eb\n\"c" + strings.Repeat("d", 5000), false, names, `There is no tool "ab\n\"cddd`},
		{model.UnknownTool, "x", false, nil, `There is no tool "x". There are no tools now: answer in words.`},
		{model.UnknownTool, "tool_of_some_server_77", false, many[:77], "Did you mean tool_of_some_server_7? The tools are: tool_of_some_server_7, "},
		{model.Unreadable, "", false, many, " and 260 more."},
		{model.Unreadable, "", false, names, `Your tool call could not be read. Write exactly one JSON object with "name" and "args". The tools are: file_read, `},
	}
	for _, test := range tests {
		got := retryNote(test.why, test.asked, test.cut, test.names, model.ModeText)
		if !strings.Contains(got, test.want) {
			t.Errorf("%q:\n got %s\nwant %s", test.asked, got, test.want)
		}
		if len(got) > 2000 {
			t.Errorf("%q: %d bytes", test.asked, len(got))
		}
	}
}
