package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// strict makes the tree of commands refuse words that name nothing: cobra shows help for them and calls that a success.
func strict(root *cobra.Command, args []string) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	root.Args = noWords
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.RunE = func(_ *cobra.Command, args []string) error { return help(root, args) }
			continue
		}
		onlyCommands(c)
	}
}

// onlyCommands makes commands that do nothing but hold others say so.
func onlyCommands(c *cobra.Command) {
	for _, sub := range c.Commands() {
		onlyCommands(sub)
	}
	if c.Runnable() || !c.HasSubCommands() {
		return
	}
	c.DisableFlagsInUseLine = true
	c.Args = noWords
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
}

func noWords(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknown(c, args[0])
	}
	return nil
}

func help(root *cobra.Command, args []string) error {
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return unknown(c, rest[0])
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	return c.Help()
}

// unknown is the error for a word that is no command of c.
func unknown(c *cobra.Command, word string) error {
	const slips = 2 // letters that may be wrong in a word that was meant
	c.SuggestionsMinimumDistance = slips
	if near := c.SuggestionsFor(word); len(near) > 0 {
		return terminal.Usage("unknown command %q for %q; did you mean %s?", word, c.CommandPath(), strings.Join(near, " or "))
	}
	return terminal.Usage("unknown command %q for %q; see %s --help", word, c.CommandPath(), c.CommandPath())
}
