import type { Content, ExecutableCode, Part } from '@google/genai';
import type { BaseCodeExecutor } from '../base/base-code-executor.ts';
import { Language, Outcome } from '../schema/genai.ts';

/**
 * Cuts an answer off after its first code block, and makes the code a separate part. Returns undefined when
 * there is no code.
 */
export function cutAtCode(content: Content, { codeBlockDelimiters }: BaseCodeExecutor): Content | undefined {
  const { parts = [] } = content;
  const at = parts.findIndex(
    ({ executableCode }, index) => executableCode && !parts[index + 1]?.codeExecutionResult,
  );
  if (at !== -1) return { ...content, parts: parts.slice(0, at + 1) };
  const words = parts.filter(({ text, thought }) => text && !thought);
  const block = findBlock(words.map(({ text }) => text).join(''), codeBlockDelimiters);
  if (!block) return undefined;
  const { before, executableCode } = block;
  const thoughts = parts.filter(({ thought }) => thought);
  const textBefore = before === '' ? [] : [{ ...words[0], text: before }];
  return { ...content, parts: [...thoughts, ...textBefore, { executableCode }] };
}

function findBlock(text: string, delimiters: BaseCodeExecutor['codeBlockDelimiters']) {
  const blocks = delimiters.flatMap(([open, close]) => {
    const start = text.indexOf(open);
    const end = start === -1 ? -1 : text.indexOf(close, start + open.length);
    return end === -1 ? [] : [{ start, code: text.slice(start + open.length, end), open }];
  });
  const [first] = blocks.sort((a, b) => a.start - b.start);
  if (!first?.code.trim()) return undefined;
  const executableCode: ExecutableCode = { code: first.code, language: toLanguage(first.open) };
  return { before: text.slice(0, first.start), executableCode };
}

/**
 * Returns the language of a code block. `@google/genai` only knows Python; other languages keep their word,
 * in its spelling.
 */
function toLanguage(open: string): Language {
  const [word = ''] = /\w+/.exec(open) ?? [];
  return word === 'tool_code' ? Language.PYTHON : (word.toUpperCase() as Language);
}

/**
 * Rewrites code parts for a model without code execution: as fenced code, and the result as text of the user.
 */
export function asWords(content: Content, executor: BaseCodeExecutor | undefined): Content {
  const isForeign = content.role !== 'model';
  if (executor?.isBuiltIn !== false && !isForeign) return content;
  const { parts = [] } = content;
  if (!parts.some(({ executableCode, codeExecutionResult }) => executableCode || codeExecutionResult))
    return content;
  const isResult = parts.every(({ codeExecutionResult }) => codeExecutionResult);
  const [open, close] = executor?.executionResultDelimiters ?? ['```tool_output\n', '\n```'];
  const words = parts.map((part): Part => {
    const { executableCode: code, codeExecutionResult: result } = part;
    if (code) return { text: `\`\`\`${languageOf(code)}\n${code.code ?? ''}\n\`\`\`` };
    return result ? { text: `${open}${result.output ?? ''}${close}` } : part;
  });
  return { role: isResult ? 'user' : (content.role ?? 'user'), parts: words };
}

export function languageOf({ language }: ExecutableCode): string {
  return (language ?? Language.PYTHON).toLowerCase();
}

/** Counts the failures at the end of a list of outcomes. */
export function failuresInARow(outcomes: readonly (Outcome | undefined)[]): number {
  const last = outcomes.lastIndexOf(Outcome.OUTCOME_OK);
  return outcomes.length - 1 - last;
}
