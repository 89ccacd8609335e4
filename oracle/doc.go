// Package oracle holds the official client libraries against the servers that this project tests itself with.
//
// Our adapters are tested with servers of our own, in model/modeltest. If such a server is wrong, an adapter that agrees
// with it is wrong too, and no test says so. Here the libraries that OpenAI, Anthropic and Ollama publish talk to those
// servers: what they decode must be what the script said, and what our adapters read must be the same. The streams in the
// adapters' testdata go through the same libraries; where we read more than they do, on purpose, the test says why.
//
// It is a module of its own, of nothing but tests, so that none of the libraries enters the program's go.mod.
// `make test-oracle` runs it.
package oracle
