package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The systems that are released. What is part of the program differs a little between them.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

const program = "./cmd/jackline"

// goModules lists the modules that the program's packages come from, with the licence files of the module and of the
// folders that are used.
func goModules(root string) ([]work, error) {
	if _, err := os.Stat(filepath.Join(root, program)); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "notices: there is no cmd/jackline in this checkout; its modules are left out")
		return nil, nil
	}
	type place struct{ dir, version string }
	modules := map[string]place{}
	folders := map[string][]string{} // by module
	for _, system := range systems {
		const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
		list := exec.Command("go", "list", "-deps", "-f", format, program)
		list.Dir = root
		goos, goarch, _ := strings.Cut(system, "/")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOWORK=off")
		var complaint bytes.Buffer
		list.Stderr = &complaint
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w\n%s", system, err, &complaint)
		}
		for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
			f := strings.Split(s.Text(), "\t")
			if len(f) != 4 {
				continue
			}
			modules[f[0]] = place{dir: f[2], version: f[1]}
			// Parts that a module took over from others keep their licence beside them.
			for dir := f[3]; len(dir) >= len(f[2]); dir = filepath.Dir(dir) {
				if !slices.Contains(folders[f[0]], dir) {
					folders[f[0]] = append(folders[f[0]], dir)
				}
			}
		}
	}
	var works []work
	for name, m := range modules {
		w := work{name: name, version: m.version}
		slices.Sort(folders[name])
		for _, dir := range folders[name] {
			texts, err := licenseFiles(m.dir, dir)
			if err != nil {
				return nil, err
			}
			w.texts = append(w.texts, texts...)
		}
		works = append(works, w)
	}
	slices.SortFunc(works, byName)
	return works, nil
}

// pagePackages lists the packages that the page is made of: what the lock file does not mark as needed for
// development only.
func pagePackages(web string) ([]work, error) {
	b, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version  string
			License  string
			Dev      bool
			Optional bool
			Peer     bool
			Link     bool
		}
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	var works []work
	for at, p := range lock.Packages {
		if at == "" || p.Dev || p.Optional || p.Peer || p.Link {
			continue
		}
		dir := filepath.Join(web, filepath.FromSlash(at))
		texts, err := licenseFiles(dir, dir)
		if err != nil {
			return nil, fmt.Errorf("%w: run npm ci in ui/web first", err)
		}
		name := at[strings.LastIndex(at, "node_modules/")+len("node_modules/"):]
		works = append(works, work{name: name, version: p.Version, declared: p.License, texts: texts})
	}
	slices.SortFunc(works, byName)
	return works, nil
}
