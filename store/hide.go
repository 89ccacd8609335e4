package store

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/redact"
	"github.com/jackline-ai/jackline/store/vault"
)

// Hide says what knows the secrets of this program, so that the log and the columns that are searched hide them. It is called before
// anything is written. Without it they hide what looks like a secret all the same.
func (d *DB) Hide(r *redact.Redactor) { d.hider = r }

// hidden is a turn as it may be searched and shown, and its exact words sealed; nil if they are the same.
func (d *DB) hidden(t jackline.Turn) (shown jackline.Turn, sealed []byte) {
	shown = t
	shown.Prompt, shown.Answer, shown.Reason = d.hider.Text(t.Prompt), d.hider.Text(t.Answer), d.hider.Text(t.Reason)
	if shown.Prompt == t.Prompt && shown.Answer == t.Answer && shown.Reason == t.Reason {
		return shown, nil
	}
	return shown, d.boxes.turns.Seal(vault.Pack(t.Prompt, t.Answer, t.Reason), string(t.ID))
}

// exact gives a turn the words that were sealed.
func (d *DB) exact(t *jackline.Turn, sealed []byte) error {
	if len(sealed) == 0 {
		return nil
	}
	plain, err := d.boxes.turns.Open(sealed, string(t.ID))
	if err != nil {
		return unsealable("turn", err)
	}
	return vault.Unpack(plain, &t.Prompt, &t.Answer, &t.Reason)
}

// sealedState is how a state is kept that holds a secret: words that wait for their turn may.
type sealedState struct {
	Sealed string `json:"jackline.sealed"`
}

// keepState is a state as it is written: as it is, or sealed if it holds a secret.
func (d *DB) keepState(session jackline.SessionID, name string, v json.RawMessage) string {
	if clean := d.hider.JSON(v); string(clean) == string(v) {
		return string(v)
	}
	kept, err := json.Marshal(sealedState{base64.StdEncoding.EncodeToString(d.boxes.state.Seal(v, string(session), name))})
	if err != nil {
		panic("store: " + err.Error()) // a struct of one string
	}
	return string(kept)
}

// readState is a state as it was before [DB.keepState].
func (d *DB) readState(session jackline.SessionID, name string, v json.RawMessage) (json.RawMessage, error) {
	if !strings.HasPrefix(string(v), `{"jackline.sealed":`) {
		return v, nil
	}
	var s sealedState
	if err := json.Unmarshal(v, &s); err != nil {
		return nil, unsealable("state", err)
	}
	sealed, err := base64.StdEncoding.DecodeString(s.Sealed)
	if err != nil {
		return nil, unsealable("state", err)
	}
	plain, err := d.boxes.state.Open(sealed, string(session), name)
	if err != nil {
		return nil, unsealable("state", err)
	}
	return plain, nil
}
