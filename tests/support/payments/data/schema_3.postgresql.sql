CREATE TABLE accounts (
  chain_id BIGINT NOT NULL,
  address VARCHAR(42) NOT NULL,
  next_nonce BIGINT NOT NULL,
  PRIMARY KEY (chain_id, address)
);
CREATE TABLE api_keys (
  id VARCHAR(20) NOT NULL,
  name VARCHAR(64) NOT NULL,
  role VARCHAR(40) NOT NULL,
  hash VARCHAR(64) NOT NULL,
  created BIGINT NOT NULL,
  revoked BIGINT,
  PRIMARY KEY (id)
);
CREATE TABLE budgets (
  payer VARCHAR(42) NOT NULL,
  network VARCHAR(60) NOT NULL,
  asset VARCHAR(42) NOT NULL,
  period VARCHAR(220) NOT NULL,
  committed NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (payer, network, asset, period)
);
CREATE TABLE buyer_channels (
  payer VARCHAR(42) NOT NULL,
  channel VARCHAR(66) NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (payer, channel)
);
CREATE TABLE cursors (
  chain_id BIGINT NOT NULL,
  token VARCHAR(42) NOT NULL,
  recipient VARCHAR(42) NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash VARCHAR(66) NOT NULL,
  PRIMARY KEY (chain_id, token, recipient, block_number)
);
CREATE TABLE hooks (
  id VARCHAR(40) NOT NULL,
  url TEXT NOT NULL,
  origin VARCHAR(40) NOT NULL,
  secret VARCHAR(100),
  created BIGINT NOT NULL,
  retired BIGINT,
  since BIGINT NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE orders (
  id VARCHAR(200) NOT NULL,
  chain_id BIGINT NOT NULL,
  token VARCHAR(42) NOT NULL,
  payer VARCHAR(42) NOT NULL,
  payee VARCHAR(42) NOT NULL,
  amount NUMERIC(78, 0) NOT NULL,
  valid_after BIGINT NOT NULL,
  valid_before BIGINT NOT NULL,
  nonce BYTEA NOT NULL,
  memo BYTEA NOT NULL,
  checkout VARCHAR(42),
  permit_nonce NUMERIC(78, 0),
  actual NUMERIC(78, 0),
  signature BYTEA,
  since_block BIGINT NOT NULL,
  state VARCHAR(40) NOT NULL,
  step VARCHAR(40) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (memo)
);
CREATE INDEX orders_nonce ON orders (chain_id, token, payer, nonce);
CREATE INDEX orders_place ON orders (state, step);
CREATE TABLE payouts (
  id VARCHAR(66) NOT NULL,
  chain_id BIGINT NOT NULL,
  token VARCHAR(42) NOT NULL,
  contract VARCHAR(42) NOT NULL,
  state VARCHAR(40) NOT NULL,
  step VARCHAR(40) NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX payouts_place ON payouts (state, step);
CREATE TABLE processes (
  id VARCHAR(64) NOT NULL,
  seen FLOAT NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE purchases (
  id VARCHAR(64) NOT NULL,
  payer VARCHAR(42) NOT NULL,
  session VARCHAR(200) NOT NULL,
  day VARCHAR(10) NOT NULL,
  reserved_at BIGINT NOT NULL,
  open_key VARCHAR(64),
  subject TEXT NOT NULL,
  scheme VARCHAR(40) NOT NULL,
  network VARCHAR(60) NOT NULL,
  asset VARCHAR(42) NOT NULL,
  payee VARCHAR(42) NOT NULL,
  amount NUMERIC(78, 0) NOT NULL,
  settled NUMERIC(78, 0),
  contract VARCHAR(42),
  nonce BYTEA,
  valid_before BIGINT,
  transaction_hash VARCHAR(66),
  status_url TEXT,
  state VARCHAR(40) NOT NULL,
  step VARCHAR(40) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (open_key)
);
CREATE INDEX purchases_place ON purchases (state, step);
CREATE INDEX purchases_transaction ON purchases (transaction_hash);
CREATE TABLE requests (
  key VARCHAR(255) NOT NULL,
  fingerprint VARCHAR(64) NOT NULL,
  since BIGINT NOT NULL,
  owner VARCHAR(100) NOT NULL,
  leased_until FLOAT NOT NULL,
  created BIGINT NOT NULL,
  status INTEGER,
  answer BYTEA,
  PRIMARY KEY (key)
);
CREATE TABLE resolutions (
  chain_id BIGINT NOT NULL,
  transaction_hash VARCHAR(66) NOT NULL,
  position INTEGER NOT NULL,
  note TEXT NOT NULL,
  resolved_by VARCHAR(20) NOT NULL,
  time BIGINT NOT NULL,
  PRIMARY KEY (chain_id, transaction_hash, position)
);
CREATE TABLE schema (
  version INTEGER NOT NULL,
  PRIMARY KEY (version)
);
CREATE TABLE timeline (
  id SERIAL NOT NULL,
  subject VARCHAR(40) NOT NULL,
  subject_id VARCHAR(200) NOT NULL,
  time BIGINT NOT NULL,
  trigger VARCHAR(60) NOT NULL,
  before VARCHAR(60),
  after VARCHAR(60) NOT NULL,
  details TEXT NOT NULL,
  told BOOLEAN NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX timeline_subject ON timeline (subject, subject_id, id);
CREATE INDEX timeline_told ON timeline (told, id);
CREATE TABLE transactions (
  id SERIAL NOT NULL,
  chain_id BIGINT NOT NULL,
  sender VARCHAR(42) NOT NULL,
  account_nonce BIGINT NOT NULL,
  purpose VARCHAR(40) NOT NULL,
  subject VARCHAR(200) NOT NULL,
  round INTEGER NOT NULL,
  target VARCHAR(42) NOT NULL,
  data BYTEA NOT NULL,
  gas BIGINT NOT NULL,
  ending VARCHAR(40),
  PRIMARY KEY (id),
  UNIQUE (chain_id, sender, account_nonce),
  UNIQUE (purpose, subject, round)
);
CREATE INDEX transactions_ending ON transactions (ending);
CREATE TABLE x402_channels (
  id VARCHAR(66) NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE x402_grants (
  id VARCHAR(200) NOT NULL,
  request BYTEA NOT NULL,
  payment TEXT NOT NULL,
  requirements TEXT NOT NULL,
  deadline NUMERIC(78, 0),
  lease BIGINT NOT NULL,
  charged NUMERIC(78, 0),
  status INTEGER,
  headers TEXT,
  body BYTEA,
  settlement TEXT,
  transaction_hash VARCHAR(66),
  state VARCHAR(40) NOT NULL,
  step VARCHAR(40) NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX x402_grants_place ON x402_grants (state, step);
CREATE TABLE x402_settlements (
  id VARCHAR(200) NOT NULL,
  chain_id BIGINT NOT NULL,
  contract VARCHAR(42) NOT NULL,
  payer VARCHAR(42) NOT NULL,
  nonce BYTEA NOT NULL,
  digest BYTEA NOT NULL,
  token VARCHAR(42) NOT NULL,
  payee VARCHAR(42),
  amount NUMERIC(78, 0),
  deadline NUMERIC(78, 0),
  state VARCHAR(40) NOT NULL,
  step VARCHAR(40) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (chain_id, contract, payer, nonce)
);
CREATE TABLE x402_turns (
  chain_id BIGINT NOT NULL,
  payer VARCHAR(42) NOT NULL,
  holder VARCHAR(200),
  taken BIGINT NOT NULL,
  PRIMARY KEY (chain_id, payer)
);
CREATE TABLE attempts (
  transaction_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  hash VARCHAR(66) NOT NULL,
  raw BYTEA NOT NULL,
  fee NUMERIC(78, 0) NOT NULL,
  priority_fee NUMERIC(78, 0) NOT NULL,
  since_block BIGINT NOT NULL,
  PRIMARY KEY (transaction_id, ordinal),
  FOREIGN KEY(transaction_id) REFERENCES transactions (id),
  UNIQUE (hash)
);
CREATE TABLE authorizations (
  chain_id BIGINT NOT NULL,
  contract VARCHAR(42) NOT NULL,
  payer VARCHAR(42) NOT NULL,
  nonce BYTEA NOT NULL,
  order_id VARCHAR(200) NOT NULL,
  PRIMARY KEY (chain_id, contract, payer, nonce),
  UNIQUE (order_id),
  FOREIGN KEY(order_id) REFERENCES orders (id)
);
CREATE TABLE deliveries (
  id SERIAL NOT NULL,
  hook_id VARCHAR(40) NOT NULL,
  entry_id INTEGER NOT NULL,
  subject VARCHAR(40) NOT NULL,
  subject_id VARCHAR(200) NOT NULL,
  state VARCHAR(40) NOT NULL,
  attempts INTEGER NOT NULL,
  due FLOAT NOT NULL,
  leased_until FLOAT NOT NULL,
  error TEXT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (hook_id, entry_id),
  FOREIGN KEY(hook_id) REFERENCES hooks (id),
  FOREIGN KEY(entry_id) REFERENCES timeline (id)
);
CREATE INDEX deliveries_due ON deliveries (hook_id, state, due);
CREATE INDEX deliveries_order ON deliveries (hook_id, subject, subject_id, state, entry_id);
CREATE INDEX deliveries_state ON deliveries (state, id);
CREATE TABLE payout_legs (
  payout_id VARCHAR(66) NOT NULL,
  position INTEGER NOT NULL,
  recipient VARCHAR(42) NOT NULL,
  amount NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (payout_id, position),
  FOREIGN KEY(payout_id) REFERENCES payouts (id)
);
CREATE TABLE refunds (
  id VARCHAR(200) NOT NULL,
  order_id VARCHAR(200) NOT NULL,
  chain_id BIGINT NOT NULL,
  token VARCHAR(42) NOT NULL,
  recipient VARCHAR(42) NOT NULL,
  amount NUMERIC(78, 0) NOT NULL,
  state VARCHAR(40) NOT NULL,
  step VARCHAR(40) NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(order_id) REFERENCES orders (id)
);
CREATE INDEX ix_refunds_order_id ON refunds (order_id);
CREATE INDEX refunds_place ON refunds (state, step);
CREATE TABLE transfers (
  chain_id BIGINT NOT NULL,
  transaction_hash VARCHAR(66) NOT NULL,
  position INTEGER NOT NULL,
  block_hash VARCHAR(66) NOT NULL,
  log_index INTEGER NOT NULL,
  block_number BIGINT NOT NULL,
  token VARCHAR(42) NOT NULL,
  sender VARCHAR(42) NOT NULL,
  recipient VARCHAR(42) NOT NULL,
  amount NUMERIC(78, 0) NOT NULL,
  nonce BYTEA,
  memo BYTEA,
  checkout VARCHAR(42),
  step VARCHAR(40) NOT NULL,
  order_id VARCHAR(200),
  PRIMARY KEY (chain_id, transaction_hash, position),
  UNIQUE (chain_id, block_hash, transaction_hash, log_index),
  UNIQUE (order_id),
  FOREIGN KEY(order_id) REFERENCES orders (id)
);
CREATE INDEX transfers_block ON transfers (chain_id, token, recipient, block_number);
CREATE INDEX transfers_step ON transfers (chain_id, token, recipient, step, block_number);
CREATE TABLE suspense (
  chain_id BIGINT NOT NULL,
  transaction_hash VARCHAR(66) NOT NULL,
  position INTEGER NOT NULL,
  reason VARCHAR(40) NOT NULL,
  order_id VARCHAR(200),
  PRIMARY KEY (chain_id, transaction_hash, position),
  FOREIGN KEY(chain_id, transaction_hash, position) REFERENCES transfers (chain_id, transaction_hash, position),
  FOREIGN KEY(order_id) REFERENCES orders (id)
);
