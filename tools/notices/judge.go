package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// named matches the names of files that hold licences.
var named = regexp.MustCompile(`(?i)(^|[-_.])(licen[cs]es?|unlicense|copying|copyright|notice|patents)([-_.]|$)`)

// Licences by a sentence that only they have, all lower case and with single spaces.
var known = []struct {
	name    string
	phrases []string // all of them
}{
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"MIT", []string{
		"permission is hereby granted, free of charge, to any person obtaining a copy",
		"the software is provided \"as is\", without warranty of any kind",
	}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee"}},
	{"MPL-2.0", []string{"mozilla public license", "2.0"}},
	{"CC0-1.0", []string{"cc0 1.0 universal"}},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}},
	{"blessing", []string{"may you do good and not evil", "may you share freely, never taking more than you give"}},
	{"public domain", []string{"dedicated to the public domain"}},
	{"Zlib", []string{"this software is provided 'as-is', without any express or implied warranty"}},
	{"Unicode", []string{"unicode license v3"}},
}

// others matches files in which a work lists what it took from elsewhere, used or not: they are reprinted and searched
// for what is refused, but they do not say how the work itself stands.
var others = regexp.MustCompile(`(?i)(3rd|third)[-_]?party`)

// Words that name an allowed licence in a package's metadata.
var allowed = []string{
	"Apache-2.0", "MIT", "BSD-3-Clause", "BSD-2-Clause", "0BSD", "ISC", "MPL-2.0", "CC0-1.0", "Unlicense", "blessing", "Zlib",
	"Unicode-3.0", "BlueOak-1.0.0",
}

// Licences that would bind Jackline or its users, and texts that are no free licence at all.
var refused = []string{
	"gnu general public license", "gnu affero general public license", "gnu lesser general public license",
	"gnu library general public license", "server side public license", "business source license", "commons clause",
	"elastic license", "all rights reserved. proprietary",
}

// judge says under which licences a work stands, or why it cannot be part of the program.
func judge(w work) ([]string, error) {
	var terms []string
	for _, t := range w.texts {
		s := plain(t.body)
		found := recognise(s)
		// The MPL names the GPL only as a licence that it may be combined with.
		if !slices.Contains(found, "MPL-2.0") {
			for _, r := range refused {
				if strings.Contains(s, r) {
					return nil, fmt.Errorf("%s holds the words %q", t.name, r)
				}
			}
		}
		for _, f := range found {
			if !others.MatchString(t.name) && !slices.Contains(terms, f) {
				terms = append(terms, f)
			}
		}
	}
	if w.declared != "" && !acceptable(w.declared) {
		return nil, fmt.Errorf("it stands under %s", w.declared)
	}
	switch {
	case len(terms) > 0:
		return terms, nil
	case w.declared != "":
		return []string{w.declared}, nil
	case len(w.texts) == 0:
		return nil, errors.New("it brings no licence file")
	}
	return nil, fmt.Errorf("the licence in %s is not known to this program", w.texts[0].name)
}

func recognise(s string) (found []string) {
	for _, k := range known {
		all := true
		for _, p := range k.phrases {
			all = all && strings.Contains(s, p)
		}
		if !all || k.name == "BSD-2-Clause" && slices.Contains(found, "BSD-3-Clause") {
			continue
		}
		found = append(found, k.name)
	}
	return found
}

// acceptable reads an SPDX expression as packages of the page declare it: one of an OR, all of an AND.
func acceptable(expression string) bool {
	e := strings.NewReplacer("(", " ", ")", " ").Replace(expression)
	for _, choice := range strings.Split(e, " OR ") {
		all := true
		for _, term := range strings.Split(choice, " AND ") {
			all = all && slices.Contains(allowed, strings.TrimSpace(term))
		}
		if all {
			return true
		}
	}
	return false
}

var spaces = regexp.MustCompile(`[\s*#/]+`)

// plain makes texts comparable: lower case, single spaces, straight quotes.
func plain(s string) string {
	s = strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'").Replace(strings.ToLower(s))
	return strings.TrimSpace(spaces.ReplaceAllString(s, " "))
}
