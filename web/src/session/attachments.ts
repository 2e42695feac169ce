/** A resource's text that goes along with a message. */
export interface Attachment {
	server: string;
	uri: string;
	mimeType: string;
	text: string;
}

const open = /^<attachment server="([^"\n]*)" uri="([^"\n]*)" type="([^"\n]*)">$/;
const close = "</attachment>";

/** A message as the model reads it: what the person wrote, then the attachments, each between marks. */
export function writeAttachments(said: string, attached: readonly Attachment[]): string {
	const quote = (value: string) => value.replaceAll('"', "%22").replace(/\s/g, " ");
	const blocks = attached.map(
		({ server, uri, mimeType, text }) =>
			`<attachment server="${quote(server)}" uri="${quote(uri)}" type="${quote(mimeType)}">\n` +
			// A line that looks like the end mark would end it early.
			`${text.replace(/^<\/attachment>$/gm, " $&")}\n${close}`,
	);
	return [said, ...blocks].join("\n\n");
}

/** Takes a message apart again. What does not look like a message with attachments is all the person's. */
export function readAttachments(message: string): { said: string; attached: Attachment[] } {
	const lines = message.split("\n");
	const start = lines.findIndex((line) => open.test(line));
	if (start < 0) return { said: message, attached: [] };
	const attached: Attachment[] = [];
	let at = start;
	while (at < lines.length) {
		const head = open.exec(lines[at] ?? "");
		const end = lines.indexOf(close, at + 1);
		if (!head || end < 0) return { said: message, attached: [] };
		const [, server = "", uri = "", mimeType = ""] = head;
		attached.push({ server, uri, mimeType, text: lines.slice(at + 1, end).join("\n") });
		at = end + 1;
		while (lines[at] === "") at++;
	}
	return { said: lines.slice(0, start).join("\n").trim(), attached };
}
