// Prints the texts of the events of a run, as /run of the gateway answers; an answer that is no list as it is.
const chunks = await Array.fromAsync(process.stdin);
const answer = JSON.parse(Buffer.concat(chunks).toString());
const texts = Array.isArray(answer)
  ? answer.flatMap(({ content }) => content?.parts?.flatMap(({ text }) => text ?? []) ?? [])
  : [JSON.stringify(answer)];
if (texts.length === 0) throw new Error(`the run has no answer: ${JSON.stringify(answer)}`);
console.log(texts.join('\n'));
process.exitCode = Array.isArray(answer) ? 0 : 1;
