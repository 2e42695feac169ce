package daemon

import (
	"net/http"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
)

func (s *Server) createMessage(w http.ResponseWriter, r *http.Request) error {
	var request api.MessageRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	id, err := s.sessions.Message(r.Context(), r.PathValue("id"), request.Text)
	if err != nil {
		return err
	}
	return respond(w, http.StatusAccepted, api.Accepted{EventID: id})
}

func (s *Server) createCall(w http.ResponseWriter, r *http.Request) error {
	var request api.CallRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	if request.Server != "" {
		if err := s.known(request.Server); err != nil {
			return err
		}
	}
	accepted, err := s.sessions.Call(r.Context(), r.PathValue("id"), conversation.Direct{
		Server: request.Server, Tool: request.Tool, Arguments: request.Arguments,
	})
	if err != nil {
		return err
	}
	return respond(w, http.StatusAccepted, api.Accepted{EventID: accepted.EventID, CallID: accepted.CallID})
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) error {
	var request api.CancelRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	if err := s.sessions.Cancel(r.Context(), r.PathValue("id"), request.CallID); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) error {
	var request api.ReadRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	if err := require("server", request.Server, "uri", request.URI); err != nil {
		return err
	}
	result, err := s.host.Read(r.Context(), request.Server, request.URI)
	if err != nil {
		return err
	}
	response := api.ReadResponse{Contents: raws(result.Contents, func(c client.ResourceContent) []byte { return c.Raw })}
	return respond(w, http.StatusOK, response)
}

func (s *Server) prompt(w http.ResponseWriter, r *http.Request) error {
	var request api.PromptRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	if err := require("server", request.Server, "name", request.Name); err != nil {
		return err
	}
	result, err := s.host.Prompt(r.Context(), request.Server, request.Name, request.Arguments)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, promptResponse(result))
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) error {
	var request api.CompleteRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	if err := require("server", request.Server, "argument", request.Argument); err != nil {
		return err
	}
	if (request.Prompt == "") == (request.Template == "") {
		return invalid("prompt", "give either prompt or template")
	}
	ref := client.CompletionRef{Prompt: request.Prompt, Template: request.Template}
	result, err := s.host.Complete(r.Context(), request.Server, ref, request.Argument, request.Value, request.Context)
	if err != nil {
		return err
	}
	response := api.CompleteResponse{Values: result.Values, HasMore: result.HasMore}
	if response.Values == nil {
		response.Values = []string{}
	}
	return respond(w, http.StatusOK, response)
}

// require checks pairs of a field's name and its value.
func require(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return invalid(pairs[i], "it is missing")
		}
	}
	return nil
}
