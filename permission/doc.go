// Package permission decides whether a tool may run: by rules, by the mode, and by what a person answered before.
//
// Decisions are taken in a fixed order, and the first that applies holds:
//
//  1. a deny rule, then the server's excludeTools and includeTools: denied;
//  2. an allow rule, then the server's alwaysAllow: allowed;
//  3. the [Mode]: [ReadOnly] allows only tools known to read and denies the others, [Auto] allows, and [Ask], the
//     default, allows tools known to read and what the person allowed before, and asks about the others.
//
// A tool is known to read when its server is trusted and the tool says readOnlyHint, without destructiveHint. The
// annotations of a server that is not trusted count for nothing.
//
// An answer is bound to the tool's definition as the person saw it (its name, description, schemas and annotations)
// and to the server's configuration. When either changed since, the person is asked again and shown the difference.
//
// [Policy.Decide] is a pure function of plain data. [Gate] adds memory: what was answered for a session, and for
// ever in a [Store]. Nothing here reads files, knows the network or asks the person; the caller does.
package permission
