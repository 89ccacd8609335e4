package detect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	jackline "github.com/jackline-ai/jackline"
)

// Read looks at one address that a person typed: a base URL, with or without /v1, here or far away. Key goes with every
// request; "" is none. It is what stands behind a button that tries an address: Found says what is there and what to
// configure, and the error, if any, what is the matter and what to do. They may come together: an engine that has no model,
// is loading one or wants another key is still found.
//
// Nothing but the origin of base is connected to, and nothing that costs money is asked. The kinds of errors: [jackline.Invalid]
// for what is no address; [jackline.Unavailable] where nothing or no engine answers, or not yet; [jackline.Timeout];
// [jackline.Forbidden] for the key; [jackline.NoModel]. An error of ctx is returned as it is.
func Read(ctx context.Context, base, key string) (Found, error) {
	const op = "detect.Read"
	u, err := parseBase(op, base)
	if err != nil {
		return Found{}, err
	}
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return Found{}, jackline.E(op, jackline.Invalid, nil, "The key holds blanks or other characters that no key has: copy it again.")
	}
	limited, cancel := context.WithTimeout(ctx, typedTime)
	defer cancel()
	found, is, heard := tryPaths(limited, u, key)
	if u.RawQuery != "" && is {
		found.BaseURL += "?" + u.RawQuery
	}
	switch {
	case ctx.Err() != nil:
		return Found{}, ctx.Err()
	case !is:
		return Found{}, fault(op, u, key, heard)
	}
	return found, complaint(op, found)
}

// tryPaths looks at the places of an address where lists of models stand, until one has something. If none has, heard is
// what came back, from the first of them unless another is locked.
func tryPaths(ctx context.Context, u *url.URL, key string) (found Found, is bool, heard answer) {
	for i, at := range paths(u.Path) {
		root := *u
		root.Path, root.RawPath = at.root, ""
		v := visit{root: &root, list: at.list, asker: newAsker(&root, typedConnectTime, typedAnswerTime)}
		v.asker.bearer(key)
		found, is := v.look(ctx)
		if !is && anthropic(v.heard) {
			found, is = v.anthropic(ctx, key), true
		}
		v.asker.close()
		if is {
			return found, true, answer{}
		}
		if i == 0 || (v.heard.locked() && !heard.locked()) { // a lock says more than a missing page
			heard = v.heard
		}
		if heard.err != nil {
			break // nobody listens, or nobody who speaks HTTP: another path changes nothing
		}
	}
	return Found{}, false, heard
}

type rootAndList struct{ root, list string }

// paths are the places to look at, for the path of an address that may be the root of an engine, the base of its API, or that
// of one of its functions.
func paths(path string) []rootAndList {
	for _, function := range []string{"/chat/completions", "/completions", "/models", "/messages", "/responses", "/embeddings", "/chat", "/tags"} {
		if before, ok := strings.CutSuffix(path, function); ok {
			path = before
			break
		}
	}
	path = strings.TrimRight(path, "/")
	origin := rootAndList{"", "/v1/models"}
	if path == "" {
		return []rootAndList{origin, {"", "/models"}}
	}
	if before, ok := strings.CutSuffix(path, "/v1"); ok {
		if before == "" {
			return []rootAndList{origin}
		}
		if engines, _, ok := strings.Cut(path, "/engines/"); ok {
			return []rootAndList{{engines, "/v1/models"}, {before, "/v1/models"}}
		}
		return []rootAndList{{before, "/v1/models"}, origin}
	}
	return []rootAndList{{path, "/models"}, {path, "/v1/models"}, origin}
}

// anthropic reports the way in which Anthropic's API refuses: an error in an envelope of its own.
func anthropic(r answer) bool {
	var e struct {
		Type  string `json:"type"`
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	return r.err == nil && r.status >= 400 && decode(r.body, &e) && e.Type == "error" && strings.HasSuffix(e.Error.Type, "_error")
}

// anthropic reads the models of a server that speaks Messages.
func (v *visit) anthropic(ctx context.Context, key string) Found {
	v.asker.keyHeader, v.asker.key = "X-Api-Key", key
	v.asker.extra = http.Header{"Anthropic-Version": {"2023-06-01"}}
	r := v.asker.get(ctx, v.list+"?limit=1000", maxList)
	f := v.blank(Anthropic)
	f.API = APIAnthropic
	f.BaseURL = strings.TrimSuffix(f.BaseURL, "/v1")
	if listed, ok := parseList(r.body); ok && r.ok() {
		f.Cards = v.plain(listed).Cards
		return f.settled(f.Cards)
	}
	switch {
	case r.locked() || r.err == nil && r.status == http.StatusForbidden:
		locked := v.wantsKey(Anthropic)
		f.State, f.Why = locked.State, locked.Why
	default:
		f.State = Down
		f.Why = fmt.Sprintf("%s listens at %s, but its list of models %s.", of(Anthropic).title, hostPort(v.root), r.fault())
	}
	return f
}

// complaint is what stands in the way of using an engine that was found.
func complaint(op string, f Found) error {
	kind := jackline.Unavailable
	switch f.State {
	case Ready:
		return nil
	case NeedsKey:
		kind = jackline.Forbidden
	case NoModel:
		kind = jackline.NoModel
	case Loading, Down:
	}
	return jackline.E(op, kind, nil, "%s", f.Why)
}

func parseBase(op, text string) (*url.URL, error) {
	bad := func(format string, a ...any) error {
		return jackline.E(op, jackline.Invalid, nil, format, a...) // a cause would repeat the text, which may hold a password
	}
	const example = "http://127.0.0.1:11434"
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, bad("Give the address of the engine, for example %s.", example)
	}
	if strings.ContainsFunc(text, hidden) || strings.Contains(text, " ") {
		return nil, bad("The address holds blanks or characters that do not show: type it anew.")
	}
	if !strings.Contains(text, "://") {
		if m, ok := parseMention(text, 0); ok && m.port != 0 && m.local() {
			return parseBase(op, "http://"+text)
		}
		return nil, bad("The address must begin with http:// or https://, for example %s.", example)
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, bad("That is no address. It looks like %s.", example)
	}
	if u.User != nil {
		return nil, bad("The address holds a user name or password: enter the key by itself instead.")
	}
	if strings.ContainsFunc(u.Host, func(r rune) bool { return r > 0x7e }) {
		return nil, bad("The host has other than plain letters: write it in its xn-- form.")
	}
	u.Fragment, u.RawFragment = "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

// fault is the error for an address where no engine was found, by what came back when it was asked for its models.
func fault(op string, u *url.URL, key string, r answer) error {
	at := u.Scheme + "://" + u.Host + u.Path
	say := func(k jackline.Kind, format string, a ...any) error {
		return jackline.E(op, k, r.err, format, a...)
	}
	switch {
	case r.err != nil:
		return unreachable(op, u, at, r.err)
	case u.Scheme == "http" && r.status == http.StatusBadRequest && r.says("HTTPS"):
		return say(jackline.Unavailable, "What listens at %s wants https: write https:// instead of http://.", at)
	case r.locked() && key == "":
		return say(jackline.Forbidden, "What listens at %s asks for a key. Enter it.", at)
	case r.locked():
		return say(jackline.Forbidden, "What listens at %s does not take that key. Check that it is the right one, whole and not withdrawn.", at)
	case r.status == http.StatusForbidden:
		return say(jackline.Forbidden, "What listens at %s forbids the question for its models. The key may lack the right, or the engine takes no "+
			"requests from this machine or under this name.", at)
	case r.status == http.StatusTooManyRequests:
		return say(jackline.Unavailable, "What listens at %s says that it was asked too often. Try again in a minute.", at)
	case r.status >= http.StatusInternalServerError:
		return say(jackline.Unavailable, "What listens at %s fails with status %d: it may be coming up, or its own log says why.", at, r.status)
	case slices.Contains(evidence{list: r}.claims(), ourselves):
		return say(jackline.Invalid, "At %s there is Jackline itself, which cannot be its own engine. Give the address of the engine behind it.", at)
	case r.page():
		return say(jackline.Unavailable, "At %s there is a web page and no model engine. Check host and port; the address of an API often ends in /v1.", at)
	case r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed:
		return say(jackline.Unavailable, "Something answers at %s, but it has no list of models there. Check port and path; most addresses end in /v1.", at)
	}
	return say(jackline.Unavailable, "Something answers at %s, but it is no model engine. Check host and port.", at)
}

// unreachable is the error for an address that gives no answer at all.
func unreachable(op string, u *url.URL, at string, cause error) error {
	say := func(k jackline.Kind, format string, a ...any) error {
		return jackline.E(op, k, bare(cause), format, a...)
	}
	var dns *net.DNSError
	var expired x509.CertificateInvalidError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	switch {
	case errors.Is(cause, errMoved):
		return say(jackline.Unavailable, "%s sends its visitors to another address, which was not followed. Enter that address if you trust it.", at)
	case errors.Is(cause, errTooMuch):
		return say(jackline.Unavailable, "What listens at %s answers with more than 4 MB, which no list of models is. Check the address.", at)
	case errors.Is(cause, http.ErrSchemeMismatch), errors.As(cause, &record):
		return say(jackline.Unavailable, "What listens at %s does not speak https: write http:// instead of https://.", at)
	case errors.As(cause, &host):
		return say(jackline.Unavailable, "The certificate of %s is for another name. Use the name that it is for.", at)
	case errors.As(cause, &expired) && expired.Reason == x509.Expired:
		return say(jackline.Unavailable, "The certificate of %s has run out, or a clock is wrong.", at)
	case errors.As(cause, &authority), errors.As(cause, &verify), errors.As(cause, &expired):
		return say(jackline.Unavailable, "The certificate of %s is not one that this machine trusts. If it is your own, let the system trust it.", at)
	case errors.As(cause, &dns):
		return say(jackline.Unavailable, "The host of %s is not known. Check how it is spelled.", at)
	case isDial(cause) && isTimeout(cause):
		return say(jackline.Timeout, "Nothing answers at %s. Check host and port, and whether a firewall is in between.", at)
	case errors.Is(cause, syscall.EHOSTUNREACH), errors.Is(cause, syscall.ENETUNREACH):
		return say(jackline.Unavailable, "%s cannot be reached from this machine. Check the host.", at)
	case isDial(cause): // refused, under whatever name the system gives it
		return say(jackline.Unavailable, "Nothing listens at %s. Start the engine (Ollama with: ollama serve), or check the port.", at)
	case isTimeout(cause):
		return say(jackline.Timeout, "Something listens at %s, but does not answer in time. It may be busy, or no engine; its own log may say why.", at)
	}
	return say(jackline.Unavailable, "What listens at %s broke off without an answer that can be read. It may be no engine, or one that is coming up.", at)
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || (errors.As(err, &n) && n.Timeout())
}
