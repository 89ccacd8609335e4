package main

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/engines"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/server"
)

const modelName = "model.name"

// idleTime is how long nobody has asked a model anything before the server may probe one: whoever reads an answer and types the next
// question takes less.
const idleTime = 5 * time.Minute

// engines are the engines of an app whose store and settings are open. The server's own ports are not looked at.
func (m *Main) engines(a *app) *engines.Engines {
	conf := a.conf
	o := engines.Options{
		BaseURL: conf.Text("model.baseUrl"), API: conf.Text("model.api"), KeyEnv: conf.Text("model.apiKeyEnv"),
		ToolMode: conf.Text("model.toolMode"), Think: conf.Text("model.think"), Window: conf.Number("model.window"), Vision: conf.Yes("model.vision"),
		Fallback: conf.Texts("model.fallback"), Alone: conf.From("model.baseUrl") == "flag" || !conf.Yes("model.detect"),
		Store: a.db, File: conf.Places.File, Env: m.Env, Memory: engines.MachineMemory(), Log: a.log, Find: m.find,
		Default: a.model, SetDefault: a.useModel, Know: a.hider.Know,
	}
	if conf.Yes("model.probeWhenIdle") {
		o.Idle = idleTime
	}
	for _, x := range conf.Get("model.each").([]settings.ForModel) {
		o.Each = append(o.Each, engines.Each(x))
	}
	for _, h := range a.hosts {
		if _, port, err := net.SplitHostPort(h); err == nil {
			if n, err := strconv.Atoi(port); err == nil {
				o.Skip = append(o.Skip, n)
			}
		}
	}
	return engines.New(o)
}

// model is the model of new chats. What was chosen on the page is a model of the engines of that time: where a flag or the environment
// brings another engine, it counts only for a server, and only if it is of that engine or of an added one.
func (a *app) model(ctx context.Context) (string, error) {
	ref, err := a.set.Text(ctx, jackline.Local, modelName)
	if from := a.conf.From("model.baseUrl"); err != nil || from != "flag" && from != "environment" {
		return ref, err
	}
	if a.serving() && (strings.HasPrefix(ref, "configured/") || strings.HasPrefix(ref, "added-")) {
		return ref, nil
	}
	return a.conf.Text(modelName), nil
}

// serving reports that this process is a server, and listen where it is, or would be.
func (a *app) serving() bool { return a.hosts != nil }

func (a *app) listen() string {
	if a.serving() {
		return a.hosts[0]
	}
	return a.conf.Text("server.listen")
}

// useModel stores the model of new chats.
func (a *app) useModel(ctx context.Context, ref string) error {
	if slices.Contains(a.set.Fixed(), modelName) {
		return jackline.E("useModel", jackline.Conflict, nil, "%s is set by a flag or the environment; change it there.", modelName)
	}
	value, err := json.Marshal(ref)
	if err != nil {
		return jackline.E("useModel", jackline.Invalid, err, "This is no name of a model.")
	}
	if ref == "" {
		value = nil // what the file says counts again
	}
	return a.set.Put(ctx, jackline.Local, map[string]json.RawMessage{modelName: value})
}

// status is how the model of new chats is doing, as far as is known without asking the engine.
func (a *app) status(ctx context.Context) server.ModelStatus {
	return server.ModelStatus(a.engines.Status(ctx))
}
