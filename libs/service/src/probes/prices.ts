import { z } from 'zod';

/** The price of a model for a million tokens each, in the currency of the table. */
export interface ModelPrice {
  /** Of the prompt, but for its cached part. */
  input: number;
  /** Of the answer, thoughts included. */
  output: number;
  /** Of the part of the prompt that the model's server had in its cache. */
  cached: number;
}

/** Returns the price of a model; undefined for a model that the table does not have. */
export type PriceOf = (model: string) => ModelPrice | undefined;

const amount = String.raw`(\d{1,9}(?:\.\d{1,9})?)`;
const entry = new RegExp(String.raw`^\s*([^\s=,*]+\*?|\*)\s*=\s*${amount}/${amount}(?:/${amount})?\s*$`);

/**
 * Reads a table of prices: `gemini-2.5-flash=0.30/2.50/0.075,gemini-2.5-pro*=1.25/10`. A model has the prices of
 * input, output and cached input; without the third, cached input costs as much as other input. A name that ends with
 * `*` stands for all models that begin so; the longest name that fits counts. The value is a {@link PriceOf}.
 */
export const priceTable: z.ZodType<PriceOf, string> = z.string().transform((text, context) => {
  const prices = new Map<string, ModelPrice>();
  for (const part of text.split(',')) {
    const [, name, input, output, cached = input] = entry.exec(part) ?? [];
    const problem =
      name === undefined
        ? `must have <model>=<input>/<output> or <model>=<input>/<output>/<cached input>, in numbers such as 0.3, and not ${JSON.stringify(part.trim())}`
        : prices.has(name) && `must have one price for ${name}, and has two`;
    if (problem) {
      context.addIssue({ code: 'custom', message: problem });
      return z.NEVER;
    }
    prices.set(name ?? '', { input: Number(input), output: Number(output), cached: Number(cached) });
  }
  const beginnings = [...prices.keys()]
    .flatMap((name) => (name.endsWith('*') ? [name.slice(0, -1)] : []))
    .sort((a, b) => b.length - a.length);
  return (model: string) => {
    const beginning = beginnings.find((each) => model.startsWith(each));
    return prices.get(model) ?? (beginning === undefined ? undefined : prices.get(`${beginning}*`));
  };
});
