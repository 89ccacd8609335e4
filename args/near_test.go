package args

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	tools := []string{"file_read", "file_write", "list_dir", "shell", "web_search", "web_fetch", "weather", "calculator", "time_now"}
	tests := []struct{ word, first, meant string }{
		{"web_serch", "web_search", "web_search"},
		{"searchWeb", "web_search", "web_search"},
		{"search", "web_search", "web_search"},
		{"WEATHER", "weather", "weather"},
		{"get_weather", "weather", "weather"},
		{"wheater", "weather", "weather"},
		{"file_raed", "file_read", "file_read"},
		{"calc", "", ""},
		{"fly_to_the_moon", "", ""},
		{"", "", ""},
		{strings.Repeat("x", 5000), "", ""},
	}
	for _, test := range tests {
		near := Near(test.word, tools, 5)
		if len(near) != 5 || test.first != "" && near[0] != test.first {
			t.Errorf("%.40q: near are %q", test.word, near)
		}
		if got := Meant(test.word, tools); got != test.meant {
			t.Errorf("%.40q: meant is %q, want %q", test.word, got, test.meant)
		}
	}
	if got := Near("x", nil, 5); len(got) != 0 || Meant("x", nil) != "" {
		t.Error(got)
	}
	names := []string{"b", "a"}
	if got := Near("a", names, 9); !slices.Equal(got, []string{"a", "b"}) || names[0] != "b" {
		t.Errorf("%q of %q", got, names)
	}
}
