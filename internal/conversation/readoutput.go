package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/model"
)

const (
	// readOutputName is the built-in tool. No server's tool has it: their labels have "__" in them.
	readOutputName = "read_output"
	defaultRead    = 32 << 10
)

func readOutputTool() model.Tool {
	return model.Tool{
		Name:        readOutputName,
		Description: "Reads on in the result of an earlier call that was too long to be shown whole. The note in the shortened result says its name and where to go on.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"name":{"type":"string","description":"The name of the result, such as call-3"},` +
			`"offset":{"type":"integer","minimum":0,"description":"Where to begin, in bytes; 0 without it"},` +
			`"limit":{"type":"integer","minimum":1,"description":"How many bytes at most; 32768 without it"}},"required":["name"]}`),
	}
}

// readOutput answers a call of the built-in tool from the log.
func (s *Sessions) readOutput(ctx context.Context, session string, h *history, arguments json.RawMessage) (text string, isError bool) {
	var in struct {
		Name   string `json:"name"`
		Offset int    `json:"offset"`
		Limit  int    `json:"limit"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return "The arguments cannot be read: " + err.Error(), true
	}
	r := h.named[in.Name]
	if r == nil || r.ended == 0 {
		return fmt.Sprintf("There is no result %q.", in.Name), true
	}
	whole, err := s.output(ctx, session, r)
	if err != nil {
		return "The result cannot be read: " + err.Error(), true
	}
	if in.Offset < 0 || in.Offset > len(whole) {
		return fmt.Sprintf("The result has %d bytes; there is nothing at %d.", len(whole), in.Offset), true
	}
	limit := min(or(in.Limit, defaultRead), max(leastCap, h.resultCap-256))
	from := backTo(whole, in.Offset)
	to := backTo(whole, min(len(whole), from+limit))
	if to == from && to < len(whole) { // less than one character was asked for
		_, n := utf8.DecodeRuneInString(whole[from:])
		to += n
	}
	// Text that counts as more tokens than it has bytes for is given in smaller pieces.
	for estimate(whole[from:to]) > max(leastCap, h.resultCap-256)/4 && to-from > utf8.UTFMax {
		to = backTo(whole, from+(to-from)/2)
	}
	note := "this is the end"
	if to < len(whole) {
		note = fmt.Sprintf("go on at offset %d", to)
	}
	return fmt.Sprintf("[%s, bytes %d to %d of %d; %s]\n%s", in.Name, from, to, len(whole), note, whole[from:to]), false
}

// output is the whole text of a result, as a model would see it.
func (s *Sessions) output(ctx context.Context, session string, r *callRecord) (string, error) {
	kept, err := s.store.Output(ctx, session, r.CallID)
	if err == nil {
		return string(bytes.ToValidUTF8(kept, []byte("\uFFFD"))), nil
	}
	if !errors.Is(err, ErrNotFound) {
		return "", err
	}
	events, err := s.store.Events(ctx, session, r.ended-1, 1, pageBytes)
	if err != nil {
		return "", err
	}
	if len(events) == 0 {
		return "", ErrNotFound
	}
	var f api.CallFinished
	if err := json.Unmarshal(events[0].Data, &f); err != nil {
		return "", err
	}
	if f.Result == nil {
		return endText(f), nil
	}
	return viewOf(f.Result).text, nil
}
