package model_test

import (
	"math"
	"testing"

	"github.com/jackline-ai/jackline/model"
)

func TestWindow(t *testing.T) {
	const gib = 1 << 30
	tests := []struct {
		name   string
		card   model.Card
		asked  int
		memory int64
		want   int
	}{
		{"nothing is known", model.Card{}, 0, 0, 8192},
		{"an engine that was started with a window", model.Card{Engine: "llama.cpp", Usable: 4096, Trained: 32768}, 0, 0, 4096},
		{"more than it was started with", model.Card{Engine: "vllm", Usable: 16384}, 65536, 0, 16384},
		{"less than it was started with", model.Card{Engine: "vllm", Usable: 16384}, 8192, 0, 8192},
		{"Ollama, cold", model.Card{Engine: "ollama", Trained: 40960}, 0, 0, 8192},
		{"Ollama, loaded with its default", model.Card{Engine: "ollama", Usable: 4096, Trained: 40960}, 0, 0, 8192},
		{"Ollama, loaded with more", model.Card{Engine: "ollama", Usable: 32768, Trained: 40960}, 0, 0, 32768},
		{"the owner wants more", model.Card{Engine: "ollama", Usable: 8192, Trained: 40960}, 20000, 0, 20000},
		{"the owner wants less", model.Card{Engine: "ollama", Usable: 32768, Trained: 40960}, 6000, 0, 6000},
		{"more than it was trained for", model.Card{Engine: "ollama", Trained: 40960}, 131072, 0, 40960},
		{"a model with a small window", model.Card{Engine: "ollama", Trained: 2048}, 0, 0, 2048},
		{"memory for more", model.Card{Engine: "ollama", Bytes: 5 * gib}, 0, 8 * gib, 8192},
		{"too little memory", model.Card{Engine: "ollama", Bytes: 5 * gib}, 0, 6 * gib, 4096},
		{"less than the weights", model.Card{Engine: "ollama", Bytes: 5 * gib}, 0, 4 * gib, 4096},
		{"too little memory, and loaded all the same", model.Card{Engine: "ollama", Bytes: 5 * gib, Usable: 16384}, 0, 6 * gib, 16384},
		{"too little memory, and the owner knows better", model.Card{Engine: "ollama", Bytes: 5 * gib}, 8192, 6 * gib, 8192},
		{"an unknown engine that takes none", model.Card{Engine: "openai", Trained: 4096}, 0, 0, 4096},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := model.Window(tt.card, tt.asked, tt.memory); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func FuzzWindow(f *testing.F) {
	f.Add("ollama", 4096, 40960, int64(5<<30), 0, int64(8<<30))
	f.Add("vllm", math.MaxInt, 0, int64(math.MaxInt64), -1, int64(-1))
	f.Fuzz(func(t *testing.T, engine string, usable, trained int, size int64, asked int, memory int64) {
		got := model.Window(model.Card{Engine: engine, Usable: usable, Trained: trained, Bytes: size}, asked, memory)
		if got < 1 {
			t.Errorf("a window of %d", got)
		}
		if engine == "ollama" && trained > 0 && got > trained {
			t.Errorf("%d is more than the %d it was trained for", got, trained)
		}
		if engine != "ollama" && usable > 0 && got > usable {
			t.Errorf("%d is more than the %d that the engine has", got, usable)
		}
	})
}
