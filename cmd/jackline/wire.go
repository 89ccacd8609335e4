package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/cell"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/engines"
	"github.com/jackline-ai/jackline/cmd/jackline/logfile"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/redact"
	"github.com/jackline-ai/jackline/retrieve"
	"github.com/jackline-ai/jackline/server"
	"github.com/jackline-ai/jackline/server/folders"
	"github.com/jackline-ai/jackline/server/runs"
	"github.com/jackline-ai/jackline/shell"
	"github.com/jackline-ai/jackline/stack"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
	"github.com/jackline-ai/jackline/ui"
	"github.com/jackline-ai/jackline/undo"
	"github.com/jackline-ai/jackline/web"
	"github.com/jackline-ai/jackline/workspace"
)

// An app is the whole program wired together: what serve runs, and what a command runs for itself where no server does.
type app struct {
	conf    *settings.Config
	db      *store.DB
	set     *settings.Live
	engines *engines.Engines
	policy  *policy.Policy
	world   world
	desk    *approval.Desk
	folders *folders.Folders
	turns   *runs.Turns
	server  *server.Server
	token   string
	hider   *redact.Redactor
	log     *slog.Logger
	logFile io.Closer

	runner string   // the tool that runs commands
	hosts  []string // the names of the server; nil inside a command
	guard  *egress.Guard
	cells  *cell.Cells // where commands run
	env    func(string) string

	indexes  retrieve.Cache // of what the tools say
	indexing sync.WaitGroup

	mu    sync.Mutex
	roots map[string]*place
}

// A place is a workspace that is open, with its tools.
type place struct {
	root *workspace.Root
	set  *tool.Set
	undo *undo.Keeper
}

// inProcess is the Host name under which a command reaches the server inside its own process.
const inProcess = "in-process.jackline"

// openApp opens the store and wires everything to it. hosts are the names under which the server may be called.
func (m *Main) openApp(ctx context.Context, conf *settings.Config, hosts []string) (_ *app, err error) {
	if m.hider == nil {
		m.hider = &redact.Redactor{}
	}
	a := &app{conf: conf, hosts: hosts, roots: map[string]*place{}, env: m.Env, hider: m.hider}
	m.knowEnvironment(conf.Text("model.apiKeyEnv"))
	var warn io.Writer // a command's standard error is for what it has to say itself
	if hosts != nil {
		warn = m.Err
	}
	if a.log, a.logFile, err = logfile.Open(conf.Places.Logs, warn, m.hider); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.close(context.WithoutCancel(ctx))
		}
	}()
	if a.guard, err = newGuard(conf, hosts); err != nil {
		return nil, err
	}
	a.world = newWorld(conf, hosts)
	if a.cells, err = newCells(ctx, conf, a.guard); err != nil {
		return nil, err
	}
	names, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	a.db.Hide(a.hider)
	a.db.Spare(func(name string, err error) {
		a.log.Warn("what was learnt about models is damaged, and is learnt again", "setting", name, "err", err)
	}, turn.CountsKey, engines.CardsName)
	made := false
	if a.token, made, err = client.Token(conf.Places.Data, a.log); err == nil && made {
		err = a.db.Note(ctx, jackline.Local, jackline.AuditEntry{Kind: jackline.AuditToken, What: "api"})
	}
	if err != nil {
		return nil, err
	}
	a.hider.Know("token of the server", a.token)
	a.set = settings.New(conf, a.db)
	a.engines = m.engines(a)
	// Those that came through the page or the API were checked when they came.
	if faults := a.policy.CheckRules(conf.Get("permissions.rules").([]jackline.Rule)); len(faults) > 0 {
		return nil, jackline.E("config", jackline.Invalid, errors.Join(faults...), "permissions.rules (%s): %s",
			conf.From("permissions.rules"), jackline.Say(faults[0]))
	}
	inForce, err := a.set.Permissions(ctx, jackline.Local)
	if err != nil {
		return nil, err
	}
	m.warn(idle(a.policy, names, inForce))
	a.desk = approval.New(a.db, a.db.Key("approval"), approval.Options{Risk: a.policy.Risk, Timeout: a.timeout, Pattern: a.fits})
	a.folders = folders.New(a.db, a.db, a.places())
	engine := &turn.Engine{
		Journal: a.db, Desk: a.desk, Models: a.engines.Model, Gate: a.gate, Settings: a.set.Agent, Errors: a.log,
		Files: a.db, Guide: a.guide, Memory: a.db,
	}
	if a.turns, err = runs.Open(ctx, runs.Config{Store: a.db, Desk: a.desk, Runner: engine, Log: a.log}); err != nil {
		return nil, err
	}
	a.server, err = server.New(server.Config{
		Store: a.db, Turns: a.turns, Desk: a.desk, Settings: a.set, Gate: a.gate, Undo: a.keeper, Model: a.status, Vet: a.vet,
		Extract: readFile, Folders: a.folders,
		Models: a.engines, Pulls: a.engines, Probes: a.engines, Doctor: a.doctor, Memory: engines.MachineMemory(),
		CheckRules: a.policy.CheckRules, Judge: a.judge, Files: page(), Token: a.token, Hosts: append(hosts, inProcess),
		Version: buildVersion(), Sandbox: func() jackline.SandboxLevel { return a.cells.Report().Level }, Log: a.log, Hider: a.hider,
	})
	return a, err
}

// openStore opens the store, and makes the judge beside it: much of a short command's time goes into being started. It gives the names of
// the tools.
func (a *app) openStore(ctx context.Context) (names []string, err error) {
	var broken error
	var beside sync.WaitGroup
	beside.Go(func() {
		stack.Grow()
		var tools *tool.Set
		if a.policy, tools, a.runner, broken = newPolicy(a.world); broken == nil {
			names = tools.Names()
			tools.Share(&a.indexes)
			a.indexing.Go(func() {
				stack.Grow()
				tools.Search(nil, nil) // makes the index that all workspaces have
			})
		}
	})
	open := store.Open
	if a.hosts == nil {
		open = store.OpenAlone
	}
	a.db, err = open(ctx, a.conf.Places.Data)
	if beside.Wait(); err == nil {
		err = broken
	}
	return names, err
}

// close ends everything that openApp began, in the opposite order. Turns that run are left in the log.
func (a *app) close(ctx context.Context) {
	const patience = 20 * time.Second // a tool's processes are given some seconds to end
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var errs []error
	a.indexing.Wait()
	if a.server != nil {
		a.server.Close()
	}
	if a.turns != nil {
		errs = append(errs, a.turns.Shutdown(ctx))
	}
	if a.engines != nil {
		a.engines.Close()
	}
	for _, p := range a.roots {
		errs = append(errs, p.root.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	if err := errors.Join(errs...); err != nil {
		a.log.Error("shutdown", "err", err)
	}
	if a.logFile != nil {
		_ = a.logFile.Close()
	}
}

func page() fs.FS { return ui.Files() }

// timeout is how long a card waits.
func (a *app) timeout() time.Duration {
	p, err := a.set.Permissions(context.Background(), jackline.Local)
	if err != nil {
		return 0
	}
	return time.Duration(p.ApprovalTimeout) * time.Second
}

// current judges by the settings as they stand when the intent comes.
type current struct{ a *app }

// Judge implements tool.Judge. Settings that cannot be read deny.
func (c current) Judge(i jackline.Intent) jackline.Decision {
	d, _ := c.Weighed(i)
	return d
}

// Weighed implements tool.Weigher.
func (c current) Weighed(i jackline.Intent) (jackline.Decision, []jackline.Decision) {
	p, err := c.a.set.Permissions(context.Background(), i.Actor.Owner)
	if err != nil {
		d := jackline.Decision{Verdict: jackline.Deny, Rule: "settings", Reason: "The settings cannot be read.", Hard: true}
		return d, []jackline.Decision{d}
	}
	return c.a.policy.With(p).Weighed(i)
}

// gate is the one way to run a tool in a session's workspace.
func (a *app) gate(s jackline.Session) (*tool.Gate, error) {
	p, err := a.place(s.Workspace)
	if err != nil {
		return nil, err
	}
	return &tool.Gate{Tools: p.set, Judge: current{a}, Desk: a.desk, Log: a.db, Keeper: p.undo, Halted: a.turns.Halted, Errors: a.log,
		Hider: a.hider, Observe: a.observe(p.root), Marks: a.folders.Marks(p.root)}, nil
}

// keeper is what keeps the files of a session's workspace.
func (a *app) keeper(s jackline.Session) (*undo.Keeper, error) {
	p, err := a.place(s.Workspace)
	if err != nil {
		return nil, err
	}
	return p.undo, nil
}

// place opens a workspace once.
func (a *app) place(dir string) (*place, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.roots[dir]; ok {
		if p.root.Stands() {
			return p, nil
		}
		// The folder is gone, or another one stands in its place: look at it anew.
		_ = p.root.Close()
		delete(a.roots, dir)
	}
	root, err := workspace.Open(dir, a.places())
	if err != nil {
		return nil, err
	}
	if root.Path() != dir {
		// The path was free of links when the folder was found fit.
		return nil, errors.Join(jackline.E("place", jackline.Conflict, nil,
			"The workspace %s has become a link to another folder: put the folder back, or begin a chat in the other one.", dir), root.Close())
	}
	set, err := tool.NewSet(allTools(builtin.Deps{
		Root: root, Environ: environ(a.conf), Keep: cell.Keep(environ(a.conf), a.conf.Texts("sandbox.keepEnv")), Result: a.result, Spill: a.db.ReadSpill, Cell: a.cells.In(root),
		Analyse: a.world.uses(dir), GitHelper: shell.GitHelper, Key: a.db.Key("facts"),
	},
		web.Deps{Guard: a.guard, Getenv: a.env, Agent: "Jackline/" + buildVersion()})...)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	set.Share(&a.indexes)
	p := &place{root: root, set: set, undo: undo.New(root, a.db, a.db, a.policy.OnlyReads)}
	a.roots[dir] = p
	return p, nil
}

// environ is what commands inherit of the program's own environment.
func environ(conf *settings.Config) []string {
	return inherited(os.Environ(), conf.Text("model.apiKeyEnv"))
}

// inherited is the environment without the variable that holds the engine's key, and without those that set up a search: the
// address of one may hold a password. Package job tells others that hold secrets by their names; the engine's has any name that
// its owner liked.
func inherited(environ []string, keyEnv string) []string {
	return slices.DeleteFunc(environ, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return keyEnv != "" && strings.EqualFold(name, keyEnv) || web.IsSearchKey(name)
	})
}

// places are the folders that no workspace may be or hold.
func (a *app) places() workspace.Options {
	p := a.conf.Places
	return workspace.Options{State: []string{filepath.Dir(p.File), p.Data, p.Logs}}
}

// vet says whether a folder may be a workspace. The default one is made when it is missing.
func (a *app) vet(ctx context.Context, dir string) (string, error) {
	if dir == "" {
		p, err := a.set.Permissions(ctx, jackline.Local)
		if err != nil {
			return "", err
		}
		dir = p.WorkspaceRoot
		if dir == a.conf.Places.Workspace {
			if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it is the person's own working folder
				return "", jackline.E("vet", jackline.Invalid, err, "The default workspace %s cannot be made. Name another with -C or permissions.workspaceRoot.", dir)
			}
		}
	}
	return workspace.Vet(dir, a.places())
}

// A connection is a client with what must be ended after it.
type connection struct {
	client *client.Client
	own    bool // the server is inside this process
	close  func()

	// ahead makes what a task in a folder needs, while it is not needed yet. It does not wait, and what fails is tried again.
	ahead func(dir string)

	// interrupted makes what this process was doing end as interrupted.
	interrupted func()
}

// connect finds the running server of this data folder, or starts one inside this process; alone forces the latter.
func (m *Main) connect(ctx context.Context, alone bool) (*connection, error) {
	conf, err := settings.Load(m.Env, m.flags)
	if err != nil {
		return nil, &terminal.Exit{Code: terminal.ExitUsage, Err: err}
	}
	m.warn(conf.Warnings)
	if !alone {
		if c := client.Running(ctx, conf.Places.Data, buildVersion()); c != nil {
			return &connection{client: c, close: func() {}, ahead: func(string) {}, interrupted: func() {}}, nil
		}
	}
	a, err := m.openApp(ctx, conf, nil)
	if err != nil {
		return nil, err
	}
	in := &client.Within{Handler: a.server.Handler()}
	var beside sync.WaitGroup
	end := sync.OnceFunc(func() {
		beside.Wait()
		a.server.Close()
		in.Close()
		a.close(context.WithoutCancel(ctx))
	})
	return &connection{
		client: &client.Client{Base: "http://" + inProcess, Token: a.token, Version: buildVersion(), HTTP: in.HTTP()},
		own:    true, close: end, interrupted: end,
		ahead: func(dir string) {
			beside.Go(func() {
				stack.Grow()
				if conf.Text("model.baseUrl") != "" { // else engines are looked for, which is the turn's to wait for
					_, _ = a.engines.Model(ctx, jackline.Session{}) // what fails is said when the turn asks
				}
				if dir, err := a.vet(ctx, dir); err == nil {
					if p, err := a.place(dir); err == nil {
						for t := range p.set.All() {
							_ = t.Facts() // looks for the programs that they need
						}
					}
				}
			})
		},
	}, nil
}
