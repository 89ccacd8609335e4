package prompted_test

import (
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/model/script"
)

func TestContract(t *testing.T) {
	modeltest.Wrapper(t, func(_ *testing.T, s *script.Script) model.Model {
		return prompted.Wrap(script.New(s, script.Options{}), prompted.Options{})
	})
}
