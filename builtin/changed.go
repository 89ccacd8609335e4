package builtin

import "github.com/jackline-ai/jackline"

// changeOf is a diff without its patch.
func changeOf(d jackline.Diff) jackline.Change {
	p := d.Path
	if d.To != "" {
		p = d.To
	}
	return jackline.Change{Path: p, Change: d.Change, Added: d.Added, Gone: d.Gone}
}

func diffView(files ...jackline.Diff) jackline.View {
	return jackline.View{Shape: jackline.ViewDiff, Files: files}
}
