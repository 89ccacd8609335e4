package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	mit = "Permission is hereby granted, free of charge, to any person\n obtaining a copy of this. " +
		"THE SOFTWARE IS PROVIDED “AS IS”, WITHOUT WARRANTY OF ANY KIND."
	bsd2 = "Redistribution and use in source and binary forms, with or without modification"
	bsd3 = bsd2 + ". Neither the name of"
	mpl  = "Mozilla Public License Version 2.0. A Secondary License means the GNU General Public License."
	gpl  = "GNU GENERAL PUBLIC\nLICENSE Version 3"
)

func TestJudge(t *testing.T) {
	file := func(s string) []text { return []text{{name: "LICENSE", body: s}} }
	cases := []struct {
		name string
		work work
		want string // the terms, or part of the error behind "!"
	}{
		{"mit", work{texts: file(mit)}, "MIT"},
		{"bsd2", work{texts: file(bsd2)}, "BSD-2-Clause"},
		{"bsd3 is not bsd2", work{texts: file(bsd3)}, "BSD-3-Clause"},
		{"mpl names the gpl", work{texts: file(mpl)}, "MPL-2.0"},
		{"two files", work{texts: append(file(mit), file(bsd3)...)}, "MIT,BSD-3-Clause"},
		{"what it took from elsewhere", work{texts: append(file(mit), text{name: "LICENSE-3RD-PARTY.md", body: mpl})}, "MIT"},
		{"the gpl from elsewhere", work{texts: append(file(mit), text{name: "THIRD_PARTY_LICENSES", body: gpl})}, "!gnu general"},
		{"gpl", work{texts: file(gpl)}, "!gnu general public license"},
		{"gpl beside mit", work{texts: append(file(mit), file(gpl)...)}, "!gnu general public license"},
		{"unknown", work{texts: file("Do as you like.")}, "!not known"},
		{"none", work{}, "!no licence file"},
		{"declared only", work{declared: "MIT"}, "MIT"},
		{"declared, one will do", work{declared: "(MPL-2.0 OR GPL-3.0)"}, "(MPL-2.0 OR GPL-3.0)"},
		{"declared, both bind", work{declared: "MIT AND GPL-3.0"}, "!stands under"},
		{"declared otherwise than the file", work{declared: "UNLICENSED", texts: file(mit)}, "!stands under"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			terms, err := judge(c.work)
			got := strings.Join(terms, ",")
			if err != nil {
				got = "!" + err.Error()
			}
			if want, isErr := strings.CutPrefix(c.want, "!"); got != c.want && (!isErr || !strings.Contains(got, want)) {
				t.Errorf("have %q, want %q", got, c.want)
			}
		})
	}
}

func TestLicenceNames(t *testing.T) {
	for _, s := range []string{"LICENSE", "license.md", "LICENCE.txt", "COPYING", "SQLITE-LICENSE", "LICENSE-3RD-PARTY.md", "NOTICE"} {
		if !named.MatchString(s) {
			t.Errorf("%s holds no licence", s)
		}
	}
	for _, s := range []string{"main.go", "relicensed.md", "README.md"} {
		if named.MatchString(s) {
			t.Errorf("%s holds a licence", s)
		}
	}
}

// A project without a program yet, and with a page of one package and one that is for development only.
func TestRun(t *testing.T) {
	root := t.TempDir()
	put := func(name, body string) {
		t.Helper()
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("ui/web/package-lock.json", `{"packages": {"": {}, "node_modules/@a/b": {"version": "1.2.3", "license": "MIT"},
		"node_modules/tester": {"version": "9.9.9", "license": "GPL-3.0", "dev": true}}}`)
	put("ui/web/node_modules/@a/b/LICENSE", mit+"  \r\n")
	if err := run(root); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "THIRD_PARTY_NOTICES"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"@a/b 1.2.3 (MIT)", "Go, its runtime and standard library (BSD-3-Clause)", "Google LLC"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the notices lack %q:\n%s", want, b)
		}
	}
	if strings.Contains(string(b), "tester") || strings.Contains(string(b), "\r") {
		t.Errorf("the notices hold what they should not:\n%s", b)
	}

	put("ui/web/node_modules/@a/b/COPYING", gpl)
	if err := run(root); err == nil || !strings.Contains(err.Error(), "@a/b 1.2.3: COPYING") {
		t.Errorf("a package under the GPL: %v", err)
	}
}
