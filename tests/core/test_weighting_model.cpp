#include <cmath>

#include "quern/core/natural_log.hpp"
#include "quern/core/random.hpp"
#include "quern/core/weighting_model.hpp"

#include "catch.hpp"

namespace quern {
namespace {

double weight_of(const Weighting& weighting, const ModelTerm& term, double f, double length) {
  double weight = 0;
  weighting.model->weigh(term, std::span(&f, 1), std::span(&length, 1), &weight);
  return weight;
}

std::string message_of(const std::string& text) {
  try {
    read_weighting(text);
  } catch (const InvalidArgument& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace

TEST_CASE("weighting models are read from their text", "[core][weighting]") {
  for (const WeightingModel& model : all_weighting_models()) {
    const Weighting usual = read_weighting(model.name);
    CHECK(usual.model == &model);
    CHECK(read_weighting(weighting_text(usual)) == usual);
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      const ModelParameter& parameter = model.parameters[i];
      CHECK(usual.values[i] == parameter.value);
      for (const double value : {parameter.least, parameter.greatest}) {
        Weighting changed = usual;
        set_parameter(changed, parameter.name, value);
        CHECK(changed.values[i] == value);
        CHECK(read_weighting(weighting_text(changed)) == changed);
      }
      Weighting changed = usual;
      for (const double value : {parameter.least - 1, parameter.greatest * 2, std::nan("")})
        CHECK_THROWS_AS(set_parameter(changed, parameter.name, value), InvalidArgument);
    }
  }
  CHECK(weighting_text(read_weighting("tfidf:b=0.5,k1=2")) == "tfidf:k1=2,b=0.5");
}

TEST_CASE("wrong texts of weighting models are refused with what is wrong", "[core][weighting]") {
  using Catch::Contains;
  CHECK_THAT(message_of("lm"),
             Contains("unknown weighting model 'lm': use one of qld, qljm, pl2, dph, tfidf, bm25, bm25f"));
  CHECK_THAT(message_of(""), Contains("unknown weighting model ''"));
  CHECK_THAT(message_of("qld:c=1"), Contains("has no parameter 'c': use mu"));
  CHECK_THAT(message_of("qld:mu=5,mu=6"), Contains("mu of the weighting model qld is given twice"));
  CHECK_THAT(message_of("dph:c=1"), Contains("has no parameters; omit 'c'"));
  CHECK_THAT(message_of("qld:mu=0"), Contains("mu of the weighting model qld must be from 0.001 to"));
  CHECK_THAT(message_of("bm25:b=1.5"), Contains("b of the weighting model bm25 must be from 0 to 1"));
  CHECK_THAT(message_of("bm25f:body=0"), Contains("body of the weighting model bm25f must be from 0.001 to 1000"));
  CHECK_THAT(message_of("bm25f:b=1"), Contains("no parameter 'b': use title, title_b, body, body_b, k1"));
  for (const char* text : {"qld:", "qld:mu", "qld:mu=", "qld:mu=1x", "qld:mu=1,", "qld:mu=one", "qld: mu=1"})
    CHECK_THAT(message_of(text), Contains("qld"));
}

TEST_CASE("no weight exceeds its model's bound", "[core][weighting][property]") {
  RandomBits random(5);
  for (int i = 0; i < 20000; ++i) {
    const double documents = static_cast<double>(1 + random.below(1 + random.below(100000)));
    const double df = static_cast<double>(1 + random.below(static_cast<std::uint64_t>(documents)));
    const double f = static_cast<double>(1 + random.below(1 + random.below(300)));
    const double length = f + static_cast<double>(random.below(1 + random.below(10000)));
    const double cf = df - 1 + f + static_cast<double>(random.below(1000));
    const double tokens = cf + length - f + static_cast<double>(random.below(1000000));
    const CollectionStatistics statistics{static_cast<std::uint64_t>(documents), static_cast<std::uint64_t>(tokens)};
    for (const WeightingModel& model : all_weighting_models()) {
      INFO(model.name << " " << f << " " << length << " " << df << " " << cf << " " << documents << " " << tokens);
      const Weighting weighting = read_weighting(model.name);
      const ModelTerm term{weighting.values, df, cf, documents, tokens, statistics.average_length()};
      const double weight = weight_of(weighting, term, f, length);
      REQUIRE(std::isfinite(weight));
      const bool is_frequent = model.name == "pl2" && f * std::log2(1 + term.average / length) < cf / documents;
      if (!is_frequent) REQUIRE(weight <= model.bound(weighting.values, statistics));
    }
  }
}

TEST_CASE("the scale of weights is finite and in range for any collection", "[core][weighting]") {
  for (const WeightingModel& model : all_weighting_models()) {
    Weighting weighting = read_weighting(model.name);
    for (const std::uint64_t documents : {0u, 1u, 5u, 4000000000u}) {
      for (const std::uint64_t tokens : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 50}) {
        for (const bool greatest : {false, true}) {
          for (const ModelParameter& parameter : model.parameters)
            set_parameter(weighting, parameter.name, greatest ? parameter.greatest : parameter.least);
          for (const unsigned bits : {4u, 16u})
            CHECK_NOTHROW(check_impact_settings(impacts_of_weighting(weighting, {documents, tokens}, bits)));
        }
      }
    }
  }
}

}  // namespace quern
