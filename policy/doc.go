// Package policy decides what may be done unasked: an intent in, a decision out. It is pure. It reads no file,
// keeps no state, asks nobody, and its answer to one intent changes only with the settings.
//
// # Order
//
// The first that refuses wins, and then the strictest:
//
//	refused touches → command text → control plane → connected tools → disabled tools → toggles → guide → plan →
//	mode table, no sandbox, ask-first, outside → the owner's rules → taint gate
//
// Everything up to plan is hard: no rule, grant or person lifts it, and no card is made. What reaches outside the
// workspace is asked about in every mode, and lifted only by a rule that spells the command out. The taint gate is
// lifted by a rule only if a person wrote that it may: see [jackline.Rule].
//
// # Commands
//
// A command is read once for each judgement. What no shell should be given is refused, with the rule's name. What is proved to
// read only has a column of its own: by the long table where a sandbox confines it, by a short list where nothing does. A
// command that the sandbox holds to the workspace, without network, is the next column, and every other one the last.
//
// # Rules
//
// A rule is a verdict and a pattern: "allow shell(npm test*)". It refines the mode table; deny wins, then ask,
// then allow. The pattern names a tool and, in parentheses, what the call would touch:
//
//	file_write                     every call of the tool, also by its other names
//	mcp__github__*                 every tool whose name fits; * stands for any characters
//	shell(git status*)             a command
//	file_write(src/**)             a path below the workspace: * within a name, ** across folders
//	web_fetch(host:*.example.org)  a host; *.example.org is every name below it, not itself
//
// In a command pattern * stands for any characters within one word; at the end of the pattern it also stands for
// all words that follow. It never stands for an operator: a command is taken apart first, as the shell would, and
// every part of it has to be allowed by some rule. A word whose value the text does not tell (a variable, a file
// pattern) fits no allow rule. Quotes and backslashes keep a * from being one.
//
// Allow is read narrowly and deny and ask broadly. An allow rule covers a call only with all that it touches; a
// deny or ask rule is met as soon as one touch fits, in any letter case, and where the text leaves open whether it
// fits, the call is asked about. A rule cannot free commands in general, as nothing may confine them: its first
// word must name the program.
//
// A rule may carry examples that [CheckRules] tries: Match must fit, NotMatch must not.
package policy
