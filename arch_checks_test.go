package jackline_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A tree is a module's source.
type tree struct {
	module string
	fset   *token.FileSet
	pkgs   []*pkg // by folder
	files  map[string]string
	paths  []string // of files, sorted
	here   []string // folders of this machine
}

// A pkg is one folder of Go files, for all systems.
type pkg struct {
	dir   string // "." or a path below the module
	files []*source
	tests []*source
}

// A source is one Go file.
type source struct {
	path  string
	lines int
	*ast.File
}

// A check looks for offences against one law.
type check struct {
	name string
	find func(tree, law) []string
}

var checks = []check{
	{"imports go down", importsGoDown},
	{"fences hold", fencesHold},
	{"packages are documented", packagesAreDocumented},
	{"exported names are documented", exportedNamesAreDocumented},
	{"names say something", namesSaySomething},
	{"nothing is too big", nothingIsTooBig},
	{"no init", noInit},
	{"no root context", noRootContext},
	{"goroutines have owners", goroutinesHaveOwners},
	{"processes have owners", processesHaveOwners},
	{"a tool is known in one place", toolsInOnePlace},
	{"dependencies have reasons", dependenciesHaveReasons},
	{"node_modules is ignored", nodeModulesIgnored},
	{"nothing names a machine", nothingNamesMachine},
}

// read parses the files of a module. Test data and other modules' Go files are not part of it.
func read(fsys fs.FS, paths []string) (tree, error) {
	t := tree{fset: token.NewFileSet(), files: map[string]string{}}
	byDir := map[string]*pkg{}
	var modules []string
	for _, p := range paths {
		if path.Base(p) == "go.mod" && p != "go.mod" {
			modules = append(modules, path.Dir(p)+"/")
		}
	}
	for _, p := range paths {
		b, err := fs.ReadFile(fsys, p)
		if err != nil {
			if info, e := fs.Lstat(fsys, p); e == nil && !info.Mode().IsRegular() {
				continue // a link, or a folder that is a repository of its own
			}
			return tree{}, err
		}
		t.files[p] = string(b)
		t.paths = append(t.paths, p)
		other := slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(p, m) })
		if path.Ext(p) != ".go" || other || within(p, "testdata") || within(p, "node_modules") {
			continue
		}
		f, err := parser.ParseFile(t.fset, p, b, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return tree{}, err
		}
		dir := path.Dir(p)
		if byDir[dir] == nil {
			byDir[dir] = &pkg{dir: dir}
			t.pkgs = append(t.pkgs, byDir[dir])
		}
		s := &source{path: p, lines: strings.Count(string(b), "\n"), File: f}
		if strings.HasSuffix(p, "_test.go") {
			byDir[dir].tests = append(byDir[dir].tests, s)
		} else {
			byDir[dir].files = append(byDir[dir].files, s)
		}
	}
	slices.SortFunc(t.pkgs, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	for line := range strings.Lines(t.files["go.mod"]) {
		if m, ok := strings.CutPrefix(line, "module "); ok {
			t.module = strings.TrimSpace(m)
		}
	}
	if t.module == "" {
		return tree{}, fmt.Errorf("no module in go.mod")
	}
	return t, nil
}

func within(p, folder string) bool { return slices.Contains(strings.Split(path.Dir(p), "/"), folder) }

// folder is the folder in the module of an import path, or "" for another module's.
func (t tree) folder(imported string) string {
	if imported == t.module {
		return "."
	}
	rest, ok := strings.CutPrefix(imported, t.module+"/")
	if !ok {
		return ""
	}
	return rest
}

func (t tree) at(p token.Pos) string {
	pos := t.fset.Position(p)
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

func (s *source) imports() []string {
	var paths []string
	for _, spec := range s.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

func importsGoDown(t tree, l law) (found []string) {
	for _, p := range t.pkgs {
		if len(p.files) == 0 {
			continue // the external tests of a folder
		}
		floor, listed := l.floors[p.dir]
		if !listed {
			found = append(found, fmt.Sprintf("package %s has no floor: give it one in arch_test.go", p.dir))
			continue
		}
		for _, f := range p.files {
			for _, imported := range f.imports() {
				to := t.folder(imported)
				below, ok := l.floors[to]
				switch {
				case to == "" || !ok: // an unlisted package is reported where it is
				case below >= floor:
					found = append(found, fmt.Sprintf("%s imports %s: floor %d may not import floor %d", f.path, to, floor, below))
				case l.support[to] && !l.support[p.dir]:
					found = append(found, fmt.Sprintf("%s imports %s, which is for tests only", f.path, to))
				}
			}
		}
	}
	return found
}

// A fence ends in "/" to mean only what is below, and covers what is below otherwise.
func fencesHold(t tree, l law) (found []string) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			for _, imported := range f.imports() {
				name := imported
				if to := t.folder(imported); to != "" {
					name = to
				}
				for fence, why := range l.fences[p.dir] {
					first, _, _ := strings.Cut(imported, "/")
					other := strings.Contains(first, ".") && t.folder(imported) == ""
					if name == fence || strings.HasPrefix(name, strings.TrimSuffix(fence, "/")+"/") ||
						fence == ".third-party" && other {
						found = append(found, fmt.Sprintf("%s imports %s: %s", f.path, imported, why))
					}
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

func packagesAreDocumented(t tree, _ law) (found []string) {
	for _, p := range t.pkgs {
		if len(p.files) == 0 {
			continue
		}
		want := "Package " + p.files[0].Name.Name + " "
		if p.files[0].Name.Name == "main" {
			want = "Command " + path.Base(p.dir) + " "
		}
		var docs []string
		for _, f := range p.files {
			if f.Doc != nil {
				docs = append(docs, f.path)
				if !strings.HasPrefix(f.Doc.Text(), want) {
					found = append(found, fmt.Sprintf("%s: the package comment does not begin with %q", f.path, want))
				}
			}
		}
		switch len(docs) {
		case 0:
			found = append(found, fmt.Sprintf("package %s has no package comment", p.dir))
		case 1:
		default:
			found = append(found, fmt.Sprintf("package %s has package comments in %s", p.dir, strings.Join(docs, " and ")))
		}
	}
	return found
}

// exportedNamesAreDocumented: one comment covers a group in brackets, and methods line under line. What Error, String and
// Unwrap do is known.
func exportedNamesAreDocumented(t tree, _ law) (found []string) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			covered, last := false, 0 // by the comment of the method on the line above
			for _, d := range f.Decls {
				names := bare(d)
				first := t.fset.Position(d.Pos()).Line
				covered = len(names) == 0 || covered && isMethod(d) && first == last+1
				last = t.fset.Position(d.End()).Line
				if covered {
					continue
				}
				for _, id := range names {
					found = append(found, fmt.Sprintf("%s: %s has no comment", t.at(id.Pos()), id.Name))
				}
			}
		}
	}
	return found
}

func isMethod(d ast.Decl) bool {
	fn, ok := d.(*ast.FuncDecl)
	return ok && fn.Recv != nil
}

// bare lists the exported names of a declaration that have no comment.
func bare(d ast.Decl) (names []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		known := d.Recv != nil && slices.Contains([]string{"Error", "String", "Unwrap"}, d.Name.Name)
		if d.Name.IsExported() && d.Doc == nil && !known && (d.Recv == nil || ast.IsExported(receiver(d))) {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		if d.Doc != nil && d.Lparen.IsValid() {
			return nil
		}
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					names = append(names, s.Name)
				}
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if id.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						names = append(names, id)
					}
				}
			}
		}
	}
	return names
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	x := d.Recv.List[0].Type
	for {
		switch e := x.(type) {
		case *ast.StarExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.IndexListExpr:
			x = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// Words that name a place for anything. A package's name says what it is about.
var empty = []string{
	"util", "utils", "common", "shared", "helper", "helpers", "manager", "core", "types", "misc", "lib",
}

func namesSaySomething(t tree, _ law) (found []string) {
	seen := map[string]bool{}
	for _, p := range t.paths {
		if within(p, "testdata") || strings.HasPrefix(p, "ui/web/") || strings.HasPrefix(p, "ui/dist/") {
			continue
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if slices.Contains(empty, path.Base(dir)) && !seen[dir] {
				seen[dir] = true
				found = append(found, fmt.Sprintf("folder %s: %q says nothing", dir, path.Base(dir)))
			}
		}
	}
	for _, p := range t.pkgs {
		for _, f := range p.files {
			if slices.Contains(empty, f.Name.Name) {
				found = append(found, fmt.Sprintf("%s: package name %q says nothing", f.path, f.Name.Name))
			}
		}
	}
	return found
}

func nothingIsTooBig(t tree, l law) (found []string) {
	for _, p := range t.pkgs {
		sum := 0
		for _, f := range p.files {
			sum += f.lines
			if f.lines > l.fileLines {
				found = append(found, fmt.Sprintf("%s has %d lines, of at most %d", f.path, f.lines, l.fileLines))
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				n := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
				if n > l.funcLines {
					found = append(found, fmt.Sprintf("%s: %s has %d lines, of at most %d", t.at(fn.Pos()), fn.Name.Name, n, l.funcLines))
				}
			}
		}
		if sum > l.packageLines {
			found = append(found, fmt.Sprintf("package %s has %d lines, of at most %d: split it by noun", p.dir, sum, l.packageLines))
		}
	}
	return found
}

func noInit(t tree, l law) (found []string) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if ok && fn.Recv == nil && fn.Name.Name == "init" && l.inits[p.dir] == "" {
					found = append(found, fmt.Sprintf("%s: an init function: let main call it", t.at(fn.Pos())))
				}
			}
		}
	}
	return found
}

// noRootContext: a context that comes from nowhere can be ended by nobody.
func noRootContext(t tree, _ law) (found []string) {
	for _, p := range t.pkgs {
		if strings.HasPrefix(p.dir, "cmd/") || p.dir == "bench" || p.dir == "bench/tasks" {
			continue // programs, where contexts begin
		}
		for _, f := range p.files {
			ast.Inspect(f.File, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if ok && x.Name == "context" && (sel.Sel.Name == "Background" || sel.Sel.Name == "TODO") {
					found = append(found, fmt.Sprintf("%s: context.%s: take the caller's", t.at(n.Pos()), sel.Sel.Name))
				}
				return true
			})
		}
	}
	return found
}

func goroutinesHaveOwners(t tree, l law) (found []string) {
	for _, p := range t.pkgs {
		if l.support[p.dir] {
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f.File, func(n ast.Node) bool {
				if starts(n) && l.goroutines[p.dir] == "" {
					found = append(found, fmt.Sprintf("%s: package %s starts a goroutine, and is not listed for it", t.at(n.Pos()), p.dir))
				}
				return true
			})
		}
	}
	return found
}

// starts reports a go statement, or a call of the methods that hide one: WaitGroup.Go, errgroup's Go.
func starts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Go" && len(n.Args) == 1
	}
	return false
}

func processesHaveOwners(t tree, l law) (found []string) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			if slices.Contains(f.imports(), "os/exec") && l.processes[p.dir] == "" {
				found = append(found, fmt.Sprintf("%s imports os/exec: only processes of package process and its like are killed as a tree", f.path))
			}
		}
	}
	return found
}

// toolsInOnePlace: a tool's name stands in the file that declares it and nowhere else in the program, so that adding a
// tool is one file and one line. Text that a person or a model reads is not looked at, only strings that are the name.
func toolsInOnePlace(t tree, l law) (found []string) {
	home, found := toolNames(t)
	allowed := func(dir, name string) bool {
		return slices.ContainsFunc(l.toolWords, func(w toolWord) bool { return w.pkg == dir && w.name == name })
	}
	used := map[toolWord]bool{}
	for _, p := range t.pkgs {
		if l.support[p.dir] {
			continue
		}
		for _, f := range p.files {
			for _, lit := range literals(f.File) {
				s, err := strconv.Unquote(lit.Value)
				if err != nil || home[s] == "" || home[s] == f.path {
					continue
				}
				used[toolWord{pkg: p.dir, name: s}] = true
				if !allowed(p.dir, s) {
					found = append(found, fmt.Sprintf("%s: %q is the tool of %s", t.at(lit.Pos()), s, home[s]))
				}
			}
		}
	}
	for _, p := range t.paths {
		if !strings.HasPrefix(p, "ui/web/src/") || strings.Contains(p, ".test.") || strings.Contains(p, ".spec.") {
			continue
		}
		for name, declared := range home {
			quoted := regexp.MustCompile("[\"'`]" + regexp.QuoteMeta(name) + "[\"'`]")
			if quoted.MatchString(t.files[p]) {
				used[toolWord{pkg: "ui/web", name: name}] = true
				if !allowed("ui/web", name) {
					found = append(found, fmt.Sprintf("%s: %q is the tool of %s", p, name, declared))
				}
			}
		}
	}
	for _, w := range l.toolWords {
		if home[w.name] != "" && !used[toolWord{pkg: w.pkg, name: w.name}] {
			found = append(found, fmt.Sprintf("arch_test.go lets %s say %q, which it does not", w.pkg, w.name))
		}
	}
	slices.Sort(found)
	return found
}

// toolNames finds the spec literals of the packages of tools and maps each tool's name to the file that declares it.
func toolNames(t tree) (home map[string]string, found []string) {
	home = map[string]string{}
	for _, p := range t.pkgs {
		if p.dir != "builtin" && p.dir != "web" {
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f.File, func(n ast.Node) bool {
				spec, ok := n.(*ast.CompositeLit)
				if !ok || !isSpec(spec.Type) {
					return true
				}
				name, ok := field(spec, "Name").(*ast.BasicLit)
				if !ok || name.Kind != token.STRING {
					found = append(found, fmt.Sprintf("%s: a tool's Name is one literal string", t.at(spec.Pos())))
					return true
				}
				s, _ := strconv.Unquote(name.Value)
				if home[s] != "" {
					found = append(found, fmt.Sprintf("%s: tool %q is also in %s", t.at(name.Pos()), s, home[s]))
				} else {
					home[s] = f.path
				}
				return true
			})
		}
	}
	return home, found
}

// isSpec recognises tool.Spec[args].
func isSpec(x ast.Expr) bool {
	if index, ok := x.(*ast.IndexExpr); ok {
		x = index.X
	}
	sel, ok := x.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Spec" {
		return false
	}
	from, ok := sel.X.(*ast.Ident)
	return ok && from.Name == "tool"
}

func field(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); ok && key.Name == name {
			return kv.Value
		}
	}
	return nil
}

// literals lists a file's strings, less imports and field tags.
func literals(f *ast.File) (lits []*ast.BasicLit) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				ast.Inspect(n.Type, func(m ast.Node) bool {
					if lit, ok := m.(*ast.BasicLit); ok && lit.Kind == token.STRING {
						lits = append(lits, lit)
					}
					return true
				})
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				lits = append(lits, n)
			}
		}
		return true
	})
	return lits
}

const dependencies = "docs/design/dependencies.md"

// dependenciesHaveReasons compares the modules that the code imports with go.mod and with the table of reasons.
func dependenciesHaveReasons(t tree, _ law) (found []string) {
	required := map[string]bool{} // path → direct
	for line := range strings.Lines(t.files["go.mod"]) {
		f := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(f) >= 2 && strings.HasPrefix(f[1], "v") && f[0] != "go" && f[0] != "toolchain" {
			required[f[0]] = !strings.HasSuffix(strings.TrimSpace(line), "// indirect")
		}
	}
	reasons := map[string]bool{}
	table, _, _ := strings.Cut(t.files[dependencies], "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| *`([^`]+\\.[^`]+)` *\\|").FindAllStringSubmatch(table, -1) {
		reasons[m[1]] = true
	}
	for m, direct := range required {
		if direct && !reasons[m] {
			found = append(found, fmt.Sprintf("%s gives no reason for %s", dependencies, m))
		}
	}
	whole := slices.ContainsFunc(t.pkgs, func(p *pkg) bool { return p.dir == "cmd/jackline" && hasMain(p) })
	if whole {
		for m := range importedModules(t, required) {
			if !required[m] {
				found = append(found, fmt.Sprintf("go.mod calls %s indirect, and the code imports it: run go mod tidy", m))
			}
		}
	}
	for m := range reasons {
		direct, ok := required[m]
		// Before the program is put together, go.mod may hold what its parts will import.
		if !ok || whole && !direct {
			found = append(found, fmt.Sprintf("%s gives a reason for %s, which go.mod does not require directly", dependencies, m))
		}
	}
	slices.Sort(found)
	return found
}

// importedModules finds which of the required modules the code imports, tests included.
func importedModules(t tree, required map[string]bool) map[string]bool {
	modules := map[string]bool{}
	for _, p := range t.pkgs {
		for _, f := range slices.Concat(p.files, p.tests) {
			for _, imported := range f.imports() {
				for m := imported; m != "."; m = path.Dir(m) {
					if _, ok := required[m]; ok {
						modules[m] = true
						break
					}
				}
			}
		}
	}
	return modules
}

func hasMain(p *pkg) bool {
	return slices.ContainsFunc(p.files, func(f *source) bool {
		return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && fn.Recv == nil && fn.Name.Name == "main"
		})
	})
}

// nodeModulesIgnored: some packages of the page bring Go files, which ./... would find.
func nodeModulesIgnored(t tree, _ law) []string {
	if _, page := t.files["ui/web/package.json"]; !page {
		return nil
	}
	if regexp.MustCompile(`(?m)^\s*(ignore )?\(?\s*\./ui/web/node_modules$`).MatchString(t.files["go.mod"]) {
		return nil
	}
	return []string{"go.mod lacks the line: ignore ./ui/web/node_modules"}
}

// The shape of a package registry's host. Everything comes from where the reader's own tools are set to fetch from.
var registry = regexp.MustCompile(`\b(?:registry|proxy|sum|mirrors?|index)\.([a-z0-9-]+)\.(?:org|com|io|dev|net|cn)\b`)

// nothingNamesMachine: what is committed is the same wherever it was written.
func nothingNamesMachine(t tree, _ law) (found []string) {
	for _, p := range t.paths {
		if strings.HasPrefix(p, "ui/dist/") {
			continue
		}
		n := 0
		for line := range strings.Lines(t.files[p]) {
			n++
			for _, dir := range t.here {
				if strings.Contains(line, dir) {
					found = append(found, fmt.Sprintf("%s:%d names a folder of this machine, %s", p, n, dir))
				}
			}
			for _, m := range registry.FindAllStringSubmatch(line, -1) {
				if m[1] != "example" {
					found = append(found, fmt.Sprintf("%s:%d names a package registry, %s", p, n, m[0]))
				}
			}
		}
	}
	return found
}
