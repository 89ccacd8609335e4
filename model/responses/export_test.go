package responses

import "github.com/jackline-ai/jackline/model"

// Written is the body of a request.
func Written(m *Model, r model.Request) []byte {
	body, _ := m.write(r, 0)
	return body
}
