/**
 * Cuts Markdown into blocks that stand on their own, so that text that grows draws its last block alone. Where a
 * cut could change what is drawn (lists, code, indented text, reference links) there is none.
 */
export function splitBlocks(text: string): string[] {
	if (/^ {0,3}\[[^\]\n]+\]:/m.test(text)) return [text];
	const blocks: string[] = [];
	let current: string[] = [];
	let fence = "";
	let blank = false;
	for (const line of text.split("\n")) {
		const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
		if (fence === "" && blank && current.length > 0 && /^\S/.test(line) && !/^([-*+]|\d+[.)])(\s|$)/.test(line)) {
			blocks.push(current.join("\n"));
			current = [];
		}
		if (fence === "" && mark) fence = mark;
		else if (fence !== "" && mark.startsWith(fence) && line.trim() === mark) fence = "";
		blank = fence === "" && line.trim() === "";
		current.push(line);
	}
	blocks.push(current.join("\n"));
	return blocks;
}

/**
 * The end of a text that still grows, so that nothing jumps when the rest comes: a mark that is open is closed, and
 * a line that could still turn what is above it into something else waits for its end.
 */
export function steadyEnd(block: string): string {
	if (openFence(block)) return block;
	const lines = block.split("\n");
	const last = lines.at(-1) ?? "";
	// A rule, a heading's underline, the marks of a list or a table's second line: what they are is not said yet.
	if (/^\s*(\d+[.)]|[\s\-=*+#|:>_]*)\s*$/.test(last)) lines.pop();
	// A table is one from its second line on.
	if (lines[0]?.startsWith("|") && !/^\|?[\s:|-]*-[\s:|-]*$/.test(lines[1] ?? "")) return "";
	let text = lines.join("\n");
	text = text.replace(/!?\[([^\]\n]*)(\]\([^)\n]*)?$/, "$1");
	const code = text.split("`").length % 2 === 0;
	if (code) text += "`";
	else if (text.replace(/`[^`]*`/g, "").split("**").length % 2 === 0) {
		text = text.endsWith("**") ? text.slice(0, -2) : `${text.replace(/\*$/, "")}**`;
	}
	return text;
}

function openFence(block: string): boolean {
	let fence = "";
	for (const line of block.split("\n")) {
		const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
		if (fence === "" && mark) fence = mark;
		else if (fence !== "" && mark.startsWith(fence) && line.trim() === mark) fence = "";
	}
	return fence !== "";
}
