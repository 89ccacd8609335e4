package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/cmd/jackline/client"
)

func TestWithin(t *testing.T) {
	ended := make(chan error, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Host", r.Host)
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot) // too late
		w.Header().Set("X-Late", "yes")
		_, _ = w.Write(bytes.ToUpper(b))
	})
	mux.HandleFunc("GET /nothing", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /forever", func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		for {
			if _, err := io.WriteString(w, "more\n"); err != nil || r.Context().Err() != nil {
				ended <- context.Cause(r.Context())
				return
			}
		}
	})
	mux.HandleFunc("GET /silent", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended <- r.Context().Err()
	})
	mux.HandleFunc("GET /broken", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	})
	in := &client.Within{Handler: mux}
	h := in.HTTP()
	get := func(ctx context.Context, method, path, body string) (*http.Response, error) {
		var b io.Reader
		if body != "" {
			b = strings.NewReader(body)
		}
		req, err := http.NewRequestWithContext(ctx, method, "http://inside"+path, b)
		if err != nil {
			t.Fatal(err)
		}
		return h.Do(req)
	}

	resp, err := get(t.Context(), http.MethodPost, "/echo", "hello")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || string(text) != "HELLO" || resp.StatusCode != http.StatusAccepted || resp.Status != "202 Accepted" || resp.Header.Get("X-Host") != "inside" || resp.Header.Get("X-Late") != "" {
		t.Errorf("%q %s %v %v", text, resp.Status, resp.Header, err)
	}

	if resp, err = get(t.Context(), http.MethodGet, "/nothing", ""); err != nil {
		t.Fatal(err)
	}
	text, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || len(text) != 0 || resp.StatusCode != http.StatusOK {
		t.Errorf("%q %d %v", text, resp.StatusCode, err)
	}

	// A client that leaves a stream ends it.
	if resp, err = get(t.Context(), http.MethodGet, "/forever", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 12)); err != nil {
		t.Error(err)
	}
	_ = resp.Body.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	// A client whose context ends gets no answer, and its request ends.
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if resp, err = get(ctx, http.MethodGet, "/silent", ""); err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	// A handler that breaks off does not look like one that was done.
	if resp, err = get(t.Context(), http.MethodGet, "/broken", ""); err != nil {
		t.Fatal(err)
	}
	text, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(text) != "half" || err == nil {
		t.Errorf("%q %v", text, err)
	}
	in.Close()
}
