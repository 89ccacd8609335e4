package detect

import (
	"net/url"
	"strings"
)

// A Cloud is a service on the network for which the environment holds a key.
type Cloud struct {
	Env      string `json:"env"`      // the variable; its value is nowhere in here
	Provider string `json:"provider"` // for people
	BaseURL  string `json:"baseUrl"`  // what to configure
	API      API    `json:"api"`
}

// clouds are services that take a key and speak an API that Jackline speaks, in the order in which they are offered.
// moved is a variable by which their own programs can be sent to another address.
var clouds = []struct {
	env, moved string
	Cloud
}{
	{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", Cloud{Provider: "Anthropic", BaseURL: "https://api.anthropic.com", API: APIAnthropic}},
	{"OPENAI_API_KEY", "OPENAI_BASE_URL", Cloud{Provider: "OpenAI", BaseURL: "https://api.openai.com/v1", API: APIOpenAI}},
	{"OPENROUTER_API_KEY", "", Cloud{Provider: "OpenRouter", BaseURL: "https://openrouter.ai/api/v1", API: APIOpenAI}},
	{"GEMINI_API_KEY", "", Cloud{Provider: "Google Gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", API: APIOpenAI}},
	{"GOOGLE_API_KEY", "", Cloud{Provider: "Google Gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", API: APIOpenAI}},
	{"MISTRAL_API_KEY", "", Cloud{Provider: "Mistral", BaseURL: "https://api.mistral.ai/v1", API: APIOpenAI}},
	{"DEEPSEEK_API_KEY", "", Cloud{Provider: "DeepSeek", BaseURL: "https://api.deepseek.com/v1", API: APIOpenAI}},
	{"XAI_API_KEY", "", Cloud{Provider: "xAI", BaseURL: "https://api.x.ai/v1", API: APIOpenAI}},
	{"GROQ_API_KEY", "", Cloud{Provider: "Groq", BaseURL: "https://api.groq.com/openai/v1", API: APIOpenAI}},
	{"TOGETHER_API_KEY", "", Cloud{Provider: "Together", BaseURL: "https://api.together.xyz/v1", API: APIOpenAI}},
	{"FIREWORKS_API_KEY", "", Cloud{Provider: "Fireworks", BaseURL: "https://api.fireworks.ai/inference/v1", API: APIOpenAI}},
	{"CEREBRAS_API_KEY", "", Cloud{Provider: "Cerebras", BaseURL: "https://api.cerebras.ai/v1", API: APIOpenAI}},
	{"MOONSHOT_API_KEY", "", Cloud{Provider: "Moonshot", BaseURL: "https://api.moonshot.ai/v1", API: APIOpenAI}},
	{"NVIDIA_API_KEY", "", Cloud{Provider: "NVIDIA", BaseURL: "https://integrate.api.nvidia.com/v1", API: APIOpenAI}},
	{"PERPLEXITY_API_KEY", "", Cloud{Provider: "Perplexity", BaseURL: "https://api.perplexity.ai", API: APIOpenAI}},
}

// Keys lists the services for which env, as of os.Getenv, holds a key, each once. Nothing is sent anywhere, and no key is
// looked at further than whether there is one. Where the environment sends the provider's own programs to another address,
// the key belongs there; it is left out when that is no address for a key.
func Keys(env func(string) string) []Cloud {
	found := []Cloud{}
	has := map[string]bool{}
	for _, c := range clouds {
		if has[c.Provider] || strings.TrimSpace(env(c.env)) == "" {
			continue
		}
		has[c.Provider] = true
		one := c.Cloud
		one.Env = c.env
		if c.moved != "" {
			if to := env(c.moved); strings.TrimSpace(to) != "" {
				if one.BaseURL = movedTo(to); one.BaseURL == "" {
					continue
				}
			}
		}
		found = append(found, one)
	}
	return found
}

// movedTo is an address from the environment that a key may go to: over https, or to this machine. "" is none.
func movedTo(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "/")
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || strings.ContainsFunc(text, hidden) {
		return ""
	}
	if u.Scheme == "https" || (u.Scheme == "http" && mention{host: u.Hostname()}.local()) {
		return text
	}
	return ""
}
