// Package web is the tools that read from the network, one file each: a search, a page, the weather.
//
// Two kinds of addresses are kept apart. Services that the owner chose (search providers, the weather) are reached at exactly
// their own origins, wherever those are. An address that a model wrote goes through the guard of package egress. What
// comes back is outside text in either case, labelled so, dated as its source dates it, and never guessed: a service that
// refuses or answers nonsense is a failure that says what to do, not an empty success.
package web

import (
	"net/url"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/tool"
)

// Deps are what the tools stand on.
type Deps struct {
	// Guard lets pages be fetched. Without it none is.
	Guard *egress.Guard

	// Getenv gives a variable of the environment: the keys of search providers. Nil is an empty environment.
	Getenv func(string) string

	// Agent is how the program introduces itself to servers; "" is its plain name.
	Agent string

	// Services replace the addresses of services in tests, by their usual ones: "https://api.open-meteo.com".
	Services map[string]string
}

// All lists the tools in the order in which models are told of them.
func All(d Deps) []tool.Tool {
	return []tool.Tool{search(d), fetch(d), weather(d)}
}

func (d Deps) env(name string) string {
	if d.Getenv == nil {
		return ""
	}
	return d.Getenv(name)
}

// origin is where a service is.
func (d Deps) origin(usual string) string {
	if o := d.Services[usual]; o != "" {
		return o
	}
	return usual
}

func (d Deps) agent() string {
	if d.Agent != "" {
		return d.Agent
	}
	return "Jackline"
}

// touch says that a call will use the host of an address that somebody vouches for.
func touch(address string) jackline.Touch {
	t := jackline.Touch{Effect: jackline.Network, Kind: "host", Service: true}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		t.Name, t.Refused = short(address, 60), "This is no address of a service."
		return t
	}
	t.Name = hostPort(u)
	return t
}
