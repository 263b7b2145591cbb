/** The text in place of a part that is not shown. */
const redactedText = '[redacted]';

/** The names of fields whose values are secrets, in small letters without `_` and `-`. */
const secretFields = new Set([
  ...['password', 'passwd', 'passphrase', 'secret', 'clientsecret', 'privatekey'],
  ...['token', 'accesstoken', 'refreshtoken', 'idtoken', 'apikey', 'xapikey', 'xgoogapikey'],
  ...['authorization', 'cookie', 'setcookie', 'credential', 'credentials', 'authcredential'],
]);

/**
 * Texts that look like secrets or like addresses of people. Each repetition has a bound, so that the time grows with
 * the length of the text alone.
 */
const patterns = [
  // Private keys in PEM, to the end of the text when it was cut off.
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END)[\s\S]){0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  // JSON Web Tokens.
  /\beyJ[\w-]{10,8000}\.[\w-]{10,8000}(?:\.[\w-]{0,8000})?/g,
  /\b(?:Bearer|Basic)\s{1,4}[\w.~+/=-]{8,8000}/gi,
  // Keys of Google, OpenAI, Anthropic, GitHub, Slack, AWS, and of the gateway.
  /\b(?:AIza[\w-]{30,60}|sk-[\w-]{16,300}|gh[a-z]_\w{20,300}|github_pat_\w{20,300}|xox[a-z]-[\w-]{10,300}|AKIA[A-Z0-9]{16}|amk_[\w-]{16,300})/g,
  /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g,
];

/** A number that may be that of a payment card: 13 to 19 digits, with single spaces or dashes between them. */
const cardNumber = /(?<![\d-])\d(?:[ -]?\d){12,18}(?![\d-])/g;

/** Returns a text without secrets, addresses of e-mail, numbers of cards, and parts that fit `own`. */
export function redactText(text: string, own?: RegExp): string {
  let left = text;
  for (const pattern of own ? [own, ...patterns] : patterns) left = left.replace(pattern, redactedText);
  return left.replace(cardNumber, (digits) => (isCard(digits) ? redactedText : digits));
}

/** Returns the replacer of `JSON.stringify` that leaves out values of secret fields, and redacts every text. */
export function redactor(own?: RegExp): (field: string, value: unknown) => unknown {
  return (field, value) => {
    if (value !== undefined && value !== null && secretFields.has(field.toLowerCase().replace(/[_-]/g, '')))
      return redactedText;
    return typeof value === 'string' ? redactText(value, own) : value;
  };
}

/** Tells whether the digits have the check digit of a card (ISO/IEC 7812, Luhn's formula). */
function isCard(text: string): boolean {
  const digits = [...text].filter((each) => each >= '0' && each <= '9').map(Number);
  const sum = digits.toReversed().reduce((total, digit, at) => {
    const counted = at % 2 === 0 ? digit : digit * 2;
    return total + (counted > 9 ? counted - 9 : counted);
  }, 0);
  return sum % 10 === 0;
}
